package survey

import (
	"encoding/binary"

	"squall/internal/convo"
	"squall/internal/wire"
	"squall/pcaps"
)

// Kinds of nodes of the tree; with a value, which protocol a node is.
const (
	kindLink     uint16 = iota + 1 // link type
	kindEther                      // EtherType
	kindLLC                        // a length instead of an EtherType (IEEE 802.3)
	kindIP                         // IP protocol number
	kindFragment                   // IP fragments
	kindGTPU                       // GTP-U message type
	kindVXLAN
	kindInner   // Ethernet in a tunnel
	kindUnsound // what is in front has no sound header behind it, or it was cut off
	kindOther   // beyond what the tree holds
)

// IP protocols that are tunnels, or that have others within.
const (
	protoIPv4 = 4
	protoIPv6 = 41
	protoGRE  = 47
)

// protocols returns the node of the innermost protocol of an Ethernet frame. The
// packet is what was found of it, if ip.
//
// What is in tunnels is asked of a wire.Stack: it costs more, and few captures have
// any.
func (s *Survey) protocols(link pcaps.LinkType, frame []byte, ip bool) int32 {
	p, t := &s.packet, &s.tree
	at := t.child(root, kindLink, uint32(link))
	if p.L3 == 0 { // shorter than its header, or than a tag
		return t.child(at, kindUnsound, 0)
	}
	for i := range p.VLANs {
		at = t.child(at, kindEther, uint32(binary.BigEndian.Uint16(frame[12+4*i:])))
	}
	if p.EtherType < 0x600 { // IEEE 802.3 section 3.2.6
		return t.child(at, kindLLC, 0)
	}
	at = t.child(at, kindEther, uint32(p.EtherType))
	if !ip {
		if p.EtherType == wire.EtherTypeIPv4 || p.EtherType == wire.EtherTypeIPv6 {
			at = t.child(at, kindUnsound, 0)
		}
		return at
	}
	if p.Fragment {
		at = t.child(at, kindFragment, 0)
	}
	at = t.child(at, kindIP, uint32(p.Proto))
	if p.Offset > 0 {
		return at
	}
	switch p.Proto {
	case convo.TCP:
		return at
	case convo.UDP:
		if !p.Transport {
			return at
		}
		switch binary.BigEndian.Uint16(frame[p.L4+2:]) {
		case 2152, 4789, 8472: // GTP-U, VXLAN, and what Linux took for that before
			return s.tunnel(at, frame)
		}
	case protoIPv4, protoIPv6, protoGRE:
		return s.tunnel(at, frame)
	}
	return at
}

// tunnel goes on from the outer packet, whose protocol is at.
func (s *Survey) tunnel(at int32, frame []byte) int32 {
	t := &s.tree
	s.stack.Walk(frame)
	udp := 0 // where the UDP header stands that the next header may be a tunnel behind
	for _, h := range s.stack.Heads() {
		if h.Quoted {
			break
		}
		if h.Level == 0 && h.Kind != wire.KindGTPU {
			if h.Kind == wire.KindUDP {
				udp = h.At
			}
			continue
		}
		b := frame[h.At:h.End]
		switch h.Kind {
		case wire.KindGTPU:
			at = t.child(at, kindGTPU, uint32(b[1]))
		case wire.KindEthernet:
			if udp > 0 && h.At == udp+16 {
				at = t.child(at, kindVXLAN, 0)
			}
			at = t.child(at, kindInner, 0)
			for off := 12; off+2 <= len(b); off += 4 {
				et := binary.BigEndian.Uint16(b[off:])
				if wire.IsVLAN(et) {
					at = t.child(at, kindEther, uint32(et))
					continue
				}
				switch {
				case et < 0x600:
					at = t.child(at, kindLLC, 0)
				case et != wire.EtherTypeIPv4 && et != wire.EtherTypeIPv6: // these have heads of their own
					at = t.child(at, kindEther, uint32(et))
				}
				break
			}
		case wire.KindIPv4:
			at = s.inner(t.child(at, kindEther, wire.EtherTypeIPv4), h.Fragment, uint32(b[9]))
		case wire.KindIPv6:
			at = s.inner(t.child(at, kindEther, wire.EtherTypeIPv6), h.Fragment, uint32(upper(b)))
		case wire.KindUDP:
			udp = h.At
		}
	}
	return at
}

// inner is an IP packet in a tunnel: its protocol comes with it.
func (s *Survey) inner(at int32, fragment bool, proto uint32) int32 {
	if fragment {
		at = s.tree.child(at, kindFragment, 0)
	}
	return s.tree.child(at, kindIP, proto)
}

// upper returns the protocol behind the extension headers of an IPv6 packet whose
// fixed header is there (RFC 8200 section 4).
func upper(b []byte) uint8 {
	next, off := b[6], 40
	for off+8 <= len(b) {
		switch next {
		case 0, 43, 60:
			next, off = b[off], off+8+int(b[off+1])*8
		case 44:
			if binary.BigEndian.Uint16(b[off+2:])&0xfff8 != 0 {
				return b[off]
			}
			next, off = b[off], off+8
		default:
			return next
		}
	}
	return next
}
