package rewrite

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
)

// addresses maps IP addresses by prefix: one entry a length, the longest first.
// nil maps none.
type addresses []length

// length are the prefixes of one family and one length.
type length struct {
	v4   bool
	bits int
	to   map[netip.Prefix]netip.Addr
}

// parseMaps reads the maps of own, which is called rule, and of common.
func parseMaps(rule string, own, common []string) (addresses, error) {
	all := map[netip.Prefix]netip.Addr{}
	for _, group := range []struct {
		rule  string
		texts []string
	}{{"map", common}, {rule, own}} {
		seen := map[netip.Prefix]bool{}
		for _, text := range group.texts {
			old, now, err := parseMap(group.rule, text)
			if err != nil {
				return nil, err
			}
			if seen[old] && all[old] != now {
				return nil, fmt.Errorf("%s %q: %v is mapped twice", group.rule, text, old)
			}
			seen[old], all[old] = true, now
		}
	}
	var list addresses
	for _, old := range slices.Collect(maps.Keys(all)) {
		v4 := old.Addr().Is4()
		i := slices.IndexFunc(list, func(l length) bool { return l.v4 == v4 && l.bits == old.Bits() })
		if i < 0 {
			i = len(list)
			list = append(list, length{v4: v4, bits: old.Bits(), to: map[netip.Prefix]netip.Addr{}})
		}
		list[i].to[old] = all[old]
	}
	slices.SortFunc(list, func(a, b length) int { return b.bits - a.bits })
	return list, nil
}

func parseMap(rule, text string) (old netip.Prefix, now netip.Addr, err error) {
	a, b, err := pair(rule, text)
	if err != nil {
		return old, now, err
	}
	if old, err = parsePrefix(rule, a); err != nil {
		return old, now, err
	}
	to, err := parsePrefix(rule, b)
	switch {
	case err != nil:
		return old, now, err
	case old.Addr().Is4() != to.Addr().Is4():
		return old, now, fmt.Errorf("%s %q: one side is IPv4, the other IPv6; an address stays of its family", rule, text)
	case old.Addr().Is4In6() || to.Addr().Is4In6():
		return old, now, fmt.Errorf("%s %q: an IPv4 address in IPv6 notation; write it as IPv4", rule, text)
	case old.Bits() != to.Bits():
		return old, now, fmt.Errorf("%s %q: have /%d and /%d, need prefixes of one length", rule, text, old.Bits(), to.Bits())
	}
	return old, to.Addr(), nil
}

// apply returns what a becomes.
func (m addresses) apply(a netip.Addr) netip.Addr {
	for i := range m {
		l := &m[i]
		if l.v4 != a.Is4() {
			continue
		}
		p, err := a.Prefix(l.bits)
		if err != nil {
			continue
		}
		if to, ok := l.to[p]; ok {
			return merge(to, a, l.bits)
		}
	}
	return a
}

// merge returns the first bits of to with the rest of a.
func merge(to, a netip.Addr, bits int) netip.Addr {
	if a.Is4() {
		return netip.AddrFrom4(merged(to.As4(), a.As4(), bits))
	}
	return netip.AddrFrom16(merged(to.As16(), a.As16(), bits))
}

func merged[A [4]byte | [16]byte](to, a A, bits int) A {
	for i := 0; i < len(a); i++ {
		switch n := bits - 8*i; {
		case n >= 8:
			a[i] = to[i]
		case n > 0:
			mask := byte(0xff) >> n
			a[i] = to[i]&^mask | a[i]&mask
		}
	}
	return a
}
