package gen

import (
	"fmt"
	"strconv"
	"strings"

	"squall/internal/plan"
	"squall/internal/strict"
)

// place is a field of a stack that can vary.
type place struct {
	field
	bit     int // from the beginning of the frame
	bits    int
	header  *header // nil in the payload
	initial uint64  // what the layer says
}

// find resolves the name of a field: udp.src, vlan[1].id, payload[4:8]. Of
// a payload the first limit-st.len bytes can vary.
func (st *stack) find(name string, limit int) (place, error) {
	layer, rest := name, ""
	if i := strings.IndexAny(name, ".["); i >= 0 {
		layer, rest = name[:i], name[i:]
	}
	if layer == "payload" {
		from, to, err := cut(rest, limit-st.len)
		if err != nil {
			return place{}, fmt.Errorf("field %q: %w", name, err)
		}
		b := st.payload.bytes(to)
		return bytePlace(b[from:to], (st.len+from)*8, nil), nil
	}
	index, field, indexed := 0, strings.TrimPrefix(rest, "."), false
	if n, behind, ok := strings.Cut(rest, "]."); ok {
		var err error
		if index, err = strconv.Atoi(strings.TrimPrefix(n, "[")); err != nil || index < 0 {
			return place{}, fmt.Errorf("field %q: need a number in brackets, 0 is the outermost layer of that name", name)
		}
		field, indexed = behind, true
	}
	count := 0
	for i := range st.headers {
		h := &st.headers[i]
		if h.name != layer {
			continue
		}
		if count++; count <= index {
			continue
		}
		if layer == "raw" && !indexed {
			from, to, err := cut(rest, len(h.bytes))
			if err != nil {
				return place{}, fmt.Errorf("field %q: %w", name, err)
			}
			return bytePlace(h.bytes[from:to], (h.off+from)*8, h), nil
		}
		f := h.field(field)
		if f == nil {
			return place{}, fmt.Errorf("unknown field %q of %s%s", field, layer, strict.Nearest(field, h.names()))
		}
		if f.name == h.next && i+1 < len(st.headers) && st.headers[i+1].name != "raw" {
			return place{}, fmt.Errorf("field %q says that %s follows: it cannot vary", name, st.headers[i+1].name)
		}
		bits := min(f.bits, 64)
		return place{field: *f, bit: h.off*8 + f.bit + f.bits - bits, bits: bits, header: h, initial: f.get(h.bytes)}, nil
	}
	return place{}, fmt.Errorf("field %q: the stream is %s, with %d layers of the name %q", name, st, count, layer)
}

func bytePlace(b []byte, bit int, h *header) place {
	f := field{bits: 8 * len(b)}
	return place{field: f, bit: bit, bits: f.bits, header: h, initial: f.get(b)}
}

// cut reads [from:to], a range of at most 8 of n bytes.
func cut(s string, n int) (from, to int, err error) {
	a, b, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), ":")
	from, err1 := strconv.Atoi(a)
	to, err2 := strconv.Atoi(b)
	switch {
	case !ok || err1 != nil || err2 != nil || from < 0 || to <= from:
		return 0, 0, fmt.Errorf("need a range of bytes like [4:8]")
	case to-from > 8:
		return 0, 0, fmt.Errorf("have %d bytes, at most 8 vary as one field", to-from)
	case to > n:
		return 0, 0, fmt.Errorf("have %d bytes in the smallest frame, need %d", n, to)
	}
	return from, to, nil
}

// window returns the patch window around the field: even, of 2, 4 or 8 bytes,
// and within the first limit bytes.
func (p *place) window(limit int) (plan.Patch, error) {
	first, end := p.bit/8, (p.bit+p.bits+7)/8
	off := first &^ 1
	width := 2
	for off+width < end {
		width *= 2
	}
	if width > 8 {
		return plan.Patch{}, fmt.Errorf("a field of %d bytes at an odd offset: begin one byte earlier or later", end-first)
	}
	for off+width > limit && off >= 2 {
		off -= 2
	}
	if off+width < end {
		return plan.Patch{}, fmt.Errorf("the last byte of a frame of odd size cannot vary: use a larger size")
	}
	mask := ^uint64(0)
	if p.bits < 64 {
		mask = 1<<p.bits - 1
	}
	return plan.Patch{Off: off, Width: width, Shift: uint(8*(off+width) - p.bit - p.bits), Mask: mask, Every: 1}, nil
}

// patch returns how the field of s.Vary[i], or of an entry that was put in,
// varies. Its salt is i+1.
func (s *Spec) patch(i int, v Vary, st *stack, limit int) (plan.Patch, place, error) {
	path := fmt.Sprintf("vary[%d]", i)
	p, err := st.find(v.Field, limit)
	if err != nil {
		return plan.Patch{}, p, s.errorf(path+".field", "%w", err)
	}
	f, err := p.window(limit)
	if err != nil {
		return f, p, s.errorf(path+".field", "field %q: %w", v.Field, err)
	}
	value := func(key, text string) (uint64, error) {
		n, err := p.parse(text)
		if err != nil {
			return 0, s.errorf(path+"."+key, "%s of %s: %w", key, v.Field, err)
		}
		return n, nil
	}
	f.Salt = uint64(i) + 1
	f.Every = max(v.Every, 1)
	f.Start, f.Step, f.Count = p.initial, 1, v.Count
	if v.Start != "" {
		if f.Start, err = value("start", v.Start); err != nil {
			return f, p, err
		}
	}
	if v.Step != "" {
		if f.Step, err = parseUint(v.Step); err != nil || f.Step == 0 || f.Step&^f.Mask != 0 {
			return f, p, s.errorf(path+".step", "step %q: need a whole number from 1 to %d", v.Step, f.Mask)
		}
	}
	if p.bits < 64 && v.Count > f.Mask+1 {
		return f, p, s.errorf(path+".count", "count: have %d, the field has %d values", v.Count, f.Mask+1)
	}
	refuse := func(key, text string) error {
		if text == "" || text == "0" {
			return nil
		}
		return s.errorf(path+"."+key, "mode %s has no %s", v.Mode, key)
	}
	switch v.Mode {
	case "", "increment":
		v.Mode = "increment"
		f.Mode = plan.Step
	case "decrement":
		f.Mode, f.Step = plan.Step, -f.Step
	case "random":
		f.Mode = plan.Draw
		if err := refuse("step", v.Step); err != nil {
			return f, p, err
		}
	case "list":
		f.Mode = plan.List
		for _, key := range [][2]string{{"start", v.Start}, {"step", v.Step}, {"count", strconv.FormatUint(v.Count, 10)}} {
			if err := refuse(key[0], key[1]); err != nil {
				return f, p, err
			}
		}
		for k, text := range v.Values {
			n, err := value(fmt.Sprintf("values[%d]", k), text)
			if err != nil {
				return f, p, err
			}
			f.List = append(f.List, n)
		}
		if len(f.List) == 0 {
			return f, p, s.errorf(path, "mode list needs values")
		}
	default:
		return f, p, s.errorf(path+".mode", "unknown mode %q%s", v.Mode, strict.Nearest(v.Mode, []string{"increment", "decrement", "list", "random"}))
	}
	if v.Mode != "list" && len(v.Values) > 0 {
		return f, p, s.errorf(path+".values", "mode %s has no values", v.Mode)
	}
	return f, p, nil
}

// Ports that flows take of their own accord: not the well-known ones.
const firstPort, ports = 1024, 65536 - 1024

// spread returns how flows differ where the stream does not say.
func (st *stack) spread(flows uint64) []Vary {
	if flows < 2 {
		return nil
	}
	var vary []Vary
	if port, count := st.port(flows); port.Field != "" {
		vary = append(vary, port)
		if flows <= count || st.ip == nil {
			return vary
		}
		return append(vary, Vary{Field: st.ip.name + ".src", Every: count, Per: "flow"})
	}
	switch first := st.headers[0].name; {
	case st.ip != nil:
		return []Vary{{Field: st.ip.name + ".src", Per: "flow"}}
	case st.headers[len(st.headers)-1].name == "arp":
		return []Vary{{Field: "arp.sender_ip", Per: "flow"}}
	case first == "ethernet":
		return []Vary{{Field: "ethernet.src", Per: "flow"}}
	}
	return nil
}

// port returns how the field that sets flows of one address apart varies, and
// how many values it has.
func (st *stack) port(flows uint64) (Vary, uint64) {
	for i := range st.headers {
		switch h := &st.headers[i]; h.name {
		case "udp", "tcp":
			v := Vary{Field: h.name + ".src", Per: "flow"}
			if h.field("src").get(h.bytes)+flows > 65536 {
				v.Start, v.Count = strconv.Itoa(firstPort), ports
			}
			return v, ports
		case "icmp":
			return Vary{Field: "icmp.id", Per: "flow"}, 65536
		}
	}
	return Vary{}, 0
}
