package lockstep

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"net/netip"

	"squall/internal/wire"
)

// seed makes keys differ from process to process.
var seed = maphash.MakeSeed()

// ports is where a NAT finds the ports of a frame and their checksum, as offsets
// from the first byte of the upper layer. Of ICMP echo the identifier is both ports
// (RFC 5508 section 3.1).
type ports struct {
	src, dst, sum int
	header        int // least length of the header
}

// portsOf returns the ports of a frame; false where it has none that a NAT changes.
func portsOf(f []byte, l wire.Layout) (ports, bool) {
	var p ports
	switch l.Proto {
	case wire.ProtoTCP:
		p = ports{0, 2, 16, 20}
	case wire.ProtoUDP:
		p = ports{0, 2, 6, 8}
	case wire.ProtoICMP:
		p = ports{4, 4, 2, 8}
	case wire.ProtoICMPv6:
		p = ports{4, 4, 2, 8}
	default:
		return p, false
	}
	if l.Fragment || l.End-l.L4 < p.header {
		return p, false
	}
	if p.sum == 2 && !echo(l.Proto, f[l.L4]) {
		return p, false
	}
	return p, true
}

// echo reports whether an ICMP type is an echo or its reply: RFC 792, RFC 4443
// section 4.
func echo(proto, kind uint8) bool {
	if proto == wire.ProtoICMP {
		return kind == 0 || kind == 8
	}
	return kind == 128 || kind == 129
}

// icmpError reports whether a frame is an ICMP error, which holds the beginning of
// another: RFC 1122 section 3.2.2, RFC 4443 section 2.1.
func icmpError(f []byte, l wire.Layout) bool {
	if l.End <= l.L4 {
		return false
	}
	switch l.Proto {
	case wire.ProtoICMP:
		switch f[l.L4] {
		case 3, 4, 5, 11, 12:
			return true
		}
	case wire.ProtoICMPv6:
		return f[l.L4] < 128
	}
	return false
}

// tupleOf returns a frame's addresses and ports; false where it has no IP.
func tupleOf(f []byte, l wire.Layout) (t tuple, ok bool) {
	if !l.IP() {
		return t, false
	}
	var src, dst netip.Addr
	if l.EtherType == wire.EtherTypeIPv4 {
		src, dst = netip.AddrFrom4([4]byte(f[l.L3+12:])), netip.AddrFrom4([4]byte(f[l.L3+16:]))
	} else {
		src, dst = netip.AddrFrom16([16]byte(f[l.L3+8:])), netip.AddrFrom16([16]byte(f[l.L3+24:]))
	}
	var sport, dport uint16
	if p, ok := portsOf(f, l); ok {
		sport, dport = binary.BigEndian.Uint16(f[l.L4+p.src:]), binary.BigEndian.Uint16(f[l.L4+p.dst:])
	}
	return tuple{netip.AddrPortFrom(src, sport), netip.AddrPortFrom(dst, dport), l.Proto}, true
}

// content returns a hash of what a NAT leaves of a frame: its upper layer without
// ports and checksum, its IP version and protocol.
func content(f []byte, l wire.Layout) uint64 {
	upper := f[l.L4:l.End]
	var head [24]byte // ports and checksum lie in the first 20
	n := copy(head[:20], upper)
	if p, ok := portsOf(f, l); ok {
		for _, at := range [...]int{p.src, p.dst, p.sum} {
			head[at], head[at+1] = 0, 0
		}
	}
	head[20], head[21] = l.Proto, f[l.L3]>>4
	return keyOf(maphash.Bytes(seed, head[:]), 0) ^ maphash.Bytes(seed, upper[n:])
}

// keyOf returns the key of a content within a flow.
func keyOf(content uint64, flow uint32) uint64 {
	return (bits.RotateLeft64(content, 29) ^ (uint64(flow) + 1)) * 0x9e3779b97f4a7c15
}
