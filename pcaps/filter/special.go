package filter

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strconv"

	"squall/internal/wire"
)

// number takes a number below limit.
func (p *parser) number(limit uint64) (int, error) {
	w, err := p.word("a number")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(w, 0, 32)
	if err != nil || n >= limit {
		p.at--
		return 0, fmt.Errorf("%q: need a number from 0 to %d", w, limit-1)
	}
	return int(n), nil
}

// vlan is true of frames with any tag, or with one of this identifier.
func (p *parser) vlan() (test, error) {
	if _, err := strconv.ParseUint(p.peek(), 0, 32); err != nil {
		return func(v *view) bool { return v.tag(func(uint16) bool { return true }) }, nil
	}
	id, err := p.number(4096)
	return func(v *view) bool { return v.tag(func(tag uint16) bool { return tag == uint16(id) }) }, err
}

// tag reports whether an identifier of the frame's VLAN tags is meant.
func (v *view) tag(meant func(id uint16) bool) bool {
	for at := 12; at+4 <= len(v.frame) && wire.IsVLAN(binary.BigEndian.Uint16(v.frame[at:])); at += 4 {
		if meant(binary.BigEndian.Uint16(v.frame[at+2:]) & 0xfff) {
			return true
		}
	}
	return false
}

// cast is [ether|ip|ip6] broadcast or multicast.
func cast(proto, what string) (test, error) {
	first := func(v *view) bool { return len(v.frame) >= 6 && v.frame[0]&1 != 0 } // IEEE 802.3 section 3.2.3
	switch {
	case (proto == "" || proto == "ether") && what == "multicast":
		return first, nil
	case proto == "" || proto == "ether":
		return func(v *view) bool { return len(v.frame) >= 6 && string(v.frame[:6]) == "\xff\xff\xff\xff\xff\xff" }, nil
	case (proto == "ip" || proto == "ip6") && what == "multicast":
		only := byEther[proto]
		return func(v *view) bool {
			_, dst, ok := v.addresses()
			if dst.Is4() { // tcpdump takes all from 224 on, 255.255.255.255 as well
				return ok && v.ether() == only && dst.As4()[0] >= 224
			}
			return ok && v.ether() == only && dst.IsMulticast()
		}, nil
	case proto == "ip":
		all := netip.AddrFrom4([4]byte{255, 255, 255, 255})
		return func(v *view) bool {
			_, dst, ok := v.addresses()
			return ok && v.ip && dst == all
		}, nil
	}
	return nil, fmt.Errorf("%s has no %s", proto, what)
}
