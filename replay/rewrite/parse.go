package rewrite

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// pair splits OLD=NEW.
func pair(rule, text string) (old, now string, err error) {
	old, now, ok := strings.Cut(text, "=")
	if !ok || old == "" || now == "" {
		return "", "", fmt.Errorf("%s %q: need OLD=NEW", rule, text)
	}
	return old, now, nil
}

func parseMAC(rule, text string) (mac [6]byte, err error) {
	a, err := net.ParseMAC(text)
	if err != nil || len(a) != 6 {
		return mac, fmt.Errorf("%s %q: no MAC address; write it like 02:00:00:00:00:01", rule, text)
	}
	return [6]byte(a), nil
}

func (w *Rewriter) compileMACs(r Rules) (err error) {
	if r.SrcMAC != "" {
		w.hasSrc = true
		if w.src, err = parseMAC("smac", r.SrcMAC); err != nil {
			return err
		}
		if w.src[0]&1 != 0 {
			return fmt.Errorf("smac %q: a group address; no frame comes from one", r.SrcMAC)
		}
	}
	if r.DstMAC != "" {
		w.hasDst = true
		if w.dst, err = parseMAC("dmac", r.DstMAC); err != nil {
			return err
		}
	}
	for _, text := range r.MACMap {
		a, b, err := pair("mac-map", text)
		if err != nil {
			return err
		}
		old, err := parseMAC("mac-map", a)
		if err != nil {
			return err
		}
		now, err := parseMAC("mac-map", b)
		if err != nil {
			return err
		}
		if was, twice := w.macs[old]; twice && was != now {
			return fmt.Errorf("mac-map %q: %s is mapped twice", text, a)
		}
		if w.macs == nil {
			w.macs = map[[6]byte][6]byte{}
		}
		w.macs[old] = now
	}
	return nil
}

// parsePrefixes reads prefixes and single addresses, with commas or apart.
func parsePrefixes(rule string, texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range texts {
		for _, one := range strings.Split(text, ",") {
			p, err := parsePrefix(rule, one)
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	return list, nil
}

// parsePrefix reads a prefix, whose bits behind its length do not matter, or an
// address.
func parsePrefix(rule, text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%s %q: neither an address nor a prefix; write 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32", rule, text)
	}
	return p.Masked(), nil
}

// parsePorts reads a table of what each port becomes, nil without rules.
func parsePorts(texts []string) (*[1 << 16]uint16, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	table, mapped := new([1 << 16]uint16), map[int]bool{}
	for i := range table {
		table[i] = uint16(i)
	}
	for _, text := range texts {
		a, b, err := pair("port-map", text)
		if err != nil {
			return nil, err
		}
		old, oldLast, err := parsePortRange(text, a)
		if err != nil {
			return nil, err
		}
		now, nowLast, err := parsePortRange(text, b)
		if err != nil {
			return nil, err
		}
		if oldLast-old != nowLast-now {
			return nil, fmt.Errorf("port-map %q: %d ports become %d; need as many on both sides", text, oldLast-old+1, nowLast-now+1)
		}
		for p := old; p <= oldLast; p++ {
			if mapped[p] {
				return nil, fmt.Errorf("port-map %q: port %d is mapped twice", text, p)
			}
			mapped[p] = true
			table[p] = uint16(now + p - old)
		}
	}
	return table, nil
}

func parsePortRange(text, part string) (first, last int, err error) {
	from, to, isRange := strings.Cut(part, "-")
	if !isRange {
		to = from
	}
	a, errA := strconv.ParseUint(from, 10, 16)
	b, errB := strconv.ParseUint(to, 10, 16)
	if errA != nil || errB != nil || a > b {
		return 0, 0, fmt.Errorf("port-map %q: %q is no port or range of ports of 0 to 65535", text, part)
	}
	return int(a), int(b), nil
}

// number is what becomes of a numeric field: set to by, or changed by it.
type number struct {
	by   int64
	step bool
}

// parseNumber reads N and, with steps, +N and -N.
func parseNumber(rule, text string, most uint64, steps bool) (*number, error) {
	digits, n := text, &number{}
	if steps && (text[0] == '+' || text[0] == '-') {
		digits, n.step = text[1:], true
	}
	v, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || v > most {
		also := ""
		if steps {
			also = ", or + or - that much"
		}
		return nil, fmt.Errorf("%s %q: need 0 to %d%s", rule, text, most, also)
	}
	n.by = int64(v)
	if text[0] == '-' {
		n.by = -n.by
	}
	return n, nil
}

func (w *Rewriter) compileTEIDs(texts []string) (err error) {
	const most = 1<<32 - 1
	for _, text := range texts {
		if text == "" {
			return fmt.Errorf("teid %q: need N, +N, -N or OLD=NEW", text)
		}
		if !strings.Contains(text, "=") {
			if len(texts) > 1 {
				return fmt.Errorf("teid %q: have %d rules; give one number, or OLD=NEW each", text, len(texts))
			}
			w.teid, err = parseNumber("teid", text, most, true)
			return err
		}
		a, b, err := pair("teid", text)
		if err != nil {
			return err
		}
		old, err := strconv.ParseUint(a, 0, 32)
		if err != nil {
			return fmt.Errorf("teid %q: %q is not 0 to %d", text, a, uint32(most))
		}
		now, err := strconv.ParseUint(b, 0, 32)
		if err != nil {
			return fmt.Errorf("teid %q: %q is not 0 to %d", text, b, uint32(most))
		}
		if was, twice := w.teids[uint32(old)]; twice && was != uint32(now) {
			return fmt.Errorf("teid %q: %s is mapped twice", text, a)
		}
		if w.teids == nil {
			w.teids = map[uint32]uint32{}
		}
		w.teids[uint32(old)] = uint32(now)
	}
	return nil
}
