package filter

import (
	"encoding/binary"
	"net/netip"

	"squall/internal/convo"
	"squall/internal/wire"
)

// Filter is a compiled expression. Compile makes one.
type Filter struct {
	test test
	view view
}

// test answers whether a frame is meant.
type test func(*view) bool

// view is the frame in hand.
type view struct {
	frame  []byte
	length int // on the wire
	packet convo.Packet
	ip     bool // packet is one
}

// Match reports whether the expression is true of an Ethernet frame, of which frame is
// what was captured, and length bytes were on the wire without FCS.
func (f *Filter) Match(frame []byte, length int) bool {
	v := &f.view
	v.frame, v.length = frame, length
	v.ip = v.packet.Decode(frame)
	return f.test(v)
}

// ether returns the EtherType behind VLAN tags; 0 where the frame is too short.
func (v *view) ether() uint16 { return v.packet.EtherType }

// proto returns the IP protocol behind extension headers.
func (v *view) proto(p uint8) bool { return v.ip && v.packet.Proto == p }

// addresses returns those of an IP packet or of what ARP asks about.
func (v *view) addresses() (src, dst netip.Addr, ok bool) {
	p := &v.packet
	switch et := v.ether(); {
	case v.ip && p.Six:
		b := v.frame[p.L3:]
		return netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:])), true
	case v.ip:
		b := v.frame[p.L3:]
		return netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:])), true
	case (et == wire.EtherTypeARP || et == etherTypeRARP) && len(v.frame) >= p.L3+28:
		b := v.frame[p.L3:]
		return netip.AddrFrom4([4]byte(b[14:])), netip.AddrFrom4([4]byte(b[24:])), true
	}
	return src, dst, false
}

// ports returns those of a packet that has them in this frame: no fragment but the
// first.
func (v *view) ports() (src, dst uint16, ok bool) {
	p := &v.packet
	if !v.ip || p.Offset > 0 || len(v.frame) < p.L4+4 {
		return 0, 0, false
	}
	switch p.Proto {
	case convo.TCP, convo.UDP, convo.SCTP:
		b := v.frame[p.L4:]
		return binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]), true
	}
	return 0, 0, false
}

const etherTypeRARP = 0x8035

// direction says which of two ends is meant.
type direction uint8

const (
	either direction = iota // src or dst
	source
	target
	both // src and dst
)

// of applies a direction to what is true of the source and of the destination.
func (d direction) of(src, dst bool) bool {
	switch d {
	case source:
		return src
	case target:
		return dst
	case both:
		return src && dst
	}
	return src || dst
}
