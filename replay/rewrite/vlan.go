package rewrite

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"squall/internal/wire"
)

// maxTags is how many VLAN tags of a frame are looked at, and how many may be
// added.
const maxTags = 8

// tag is a VLAN tag, or what is to become of one: parts of -1 are kept.
type tag struct{ id, pcp, dei, tpid int }

type tagRules struct {
	del    string
	set    []tag       // the n-th tag from outside
	setIDs map[int]tag // tags by their ID
	add    []tag
}

func (t *tagRules) empty() bool {
	return t.del == "" && len(t.set) == 0 && len(t.setIDs) == 0 && len(t.add) == 0
}

func (w *Rewriter) compileTags(r Rules) error {
	t := &w.tags
	switch t.del = r.VLANDel; t.del {
	case "", Outer, All:
	default:
		return fmt.Errorf("vlan-del %q: need outer or all", r.VLANDel)
	}
	if len(r.VLANAdd) > maxTags || len(r.VLANSet) > 1<<12 {
		return fmt.Errorf("vlan-add: have %d tags, at most %d can be added", len(r.VLANAdd), maxTags)
	}
	for _, text := range r.VLANAdd {
		v, err := parseTag("vlan-add", text, text)
		if err != nil {
			return err
		}
		if v.id < 0 {
			return fmt.Errorf("vlan-add %q: need an ID; write ID[:PCP[:DEI]][/TPID]", text)
		}
		v.pcp, v.dei = max(v.pcp, 0), max(v.dei, 0)
		if v.tpid < 0 {
			v.tpid = wire.EtherTypeVLAN
		}
		t.add = append(t.add, v)
	}
	for _, text := range r.VLANSet {
		old, now, by := strings.Cut(text, "=")
		if !by {
			now = old
		}
		v, err := parseTag("vlan-set", text, now)
		if err != nil {
			return err
		}
		if !by {
			t.set = append(t.set, v)
			continue
		}
		id, err := strconv.ParseUint(old, 0, 12)
		if err != nil {
			return fmt.Errorf("vlan-set %q: %q is no VLAN ID of 0 to 4095", text, old)
		}
		if was, twice := t.setIDs[int(id)]; twice && was != v {
			return fmt.Errorf("vlan-set %q: VLAN %d is changed twice", text, id)
		}
		if t.setIDs == nil {
			t.setIDs = map[int]tag{}
		}
		t.setIDs[int(id)] = v
	}
	return nil
}

// parseTag reads [ID][:[PCP][:DEI]][/TPID].
func parseTag(rule, text, part string) (tag, error) {
	v := tag{-1, -1, -1, -1}
	part, tpid, typed := strings.Cut(part, "/")
	if typed {
		n, err := strconv.ParseUint(tpid, 0, 16)
		if err != nil || !wire.IsVLAN(uint16(n)) {
			return v, fmt.Errorf("%s %q: %q is no type of a VLAN tag: 0x8100, 0x88a8 or 0x9100", rule, text, tpid)
		}
		v.tpid = int(n)
	}
	fields := strings.Split(part, ":")
	if len(fields) > 3 || part == "" && !typed {
		return v, fmt.Errorf("%s %q: write ID[:PCP[:DEI]][/TPID]", rule, text)
	}
	for i, f := range []struct {
		what string
		to   *int
		most uint64
	}{{"VLAN ID", &v.id, 4095}, {"priority", &v.pcp, 7}, {"drop eligible indicator", &v.dei, 1}} {
		if i >= len(fields) || fields[i] == "" {
			continue
		}
		n, err := strconv.ParseUint(fields[i], 0, 16)
		if err != nil || n > f.most {
			return v, fmt.Errorf("%s %q: %q is no %s of 0 to %d", rule, text, fields[i], f.what, f.most)
		}
		*f.to = int(n)
	}
	return v, nil
}

// over returns the tag that was, changed.
func (v tag) over(was tag) tag {
	keep := func(to *int, old int) {
		if *to < 0 {
			*to = old
		}
	}
	keep(&v.id, was.id)
	keep(&v.pcp, was.pcp)
	keep(&v.dei, was.dei)
	keep(&v.tpid, was.tpid)
	return v
}

func (v tag) put(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(v.tpid))
	return binary.BigEndian.AppendUint16(dst, uint16(v.pcp<<13|v.dei<<12|v.id))
}

// apply appends frame, at least an Ethernet header long, with its tags changed.
func (t *tagRules) apply(dst, frame []byte) []byte {
	if t.empty() {
		return append(dst, frame...)
	}
	dst = append(dst, frame[:12]...)
	for _, v := range t.add {
		dst = v.put(dst)
	}
	rest := frame[12:]
	for n, deleted := 0, 0; n < maxTags && len(rest) >= 6 && wire.IsVLAN(binary.BigEndian.Uint16(rest)); rest = rest[4:] {
		if t.del == All || t.del == Outer && deleted == 0 {
			deleted++
			continue
		}
		tci := int(binary.BigEndian.Uint16(rest[2:]))
		v := tag{tci & 0xfff, tci >> 13, tci >> 12 & 1, int(binary.BigEndian.Uint16(rest))}
		was := v
		if n < len(t.set) {
			v = t.set[n].over(v)
		}
		if by, ok := t.setIDs[was.id]; ok {
			v = by.over(v)
		}
		dst = v.put(dst)
		n++
	}
	return append(dst, rest...)
}
