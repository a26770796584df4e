package convo

import (
	"cmp"
	"encoding/binary"
	"net/netip"
)

// Protocol numbers.
const (
	ICMP   = 1
	TCP    = 6
	UDP    = 17
	DCCP   = 33
	ICMPv6 = 58
	SCTP   = 132
	Lite   = 136 // UDP-Lite
)

// Flags of TCP, RFC 9293 section 3.1.
const (
	FIN = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
)

// Endpoint is one end of a conversation. Port is 0 where the protocol has none.
type Endpoint struct {
	Addr netip.Addr
	Port uint16
}

// Packet is what Decode finds in a frame. Offsets are bytes from the frame's
// beginning, of what was captured.
type Packet struct {
	EtherType uint16 // behind VLAN tags
	VLANs     int
	// L3, L4, Payload and End are where the IP header, what it carries, the payload
	// of TCP or UDP, and the IP packet begin or end. Padding is behind End. Of a
	// fragment but the first, or a transport header that is not whole, Payload is L4.
	L3, L4, Payload, End int
	// Len is the length of the IP packet by its header, which may be more than was
	// captured.
	Len   int
	Six   bool // IPv6
	Proto uint8

	// Fragment: it is one of several; Offset is where its data belong, in bytes, and
	// ID what all of them have in common.
	Fragment bool
	Offset   int
	ID       uint32

	// Transport: the header of TCP, or the ports of another protocol, are there.
	Transport bool
	Seq, Ack  uint32
	Flags     uint8 // of TCP
	Window    uint16

	key      key
	backward bool // the source is the key's second end
}

// Src returns the sender.
func (p *Packet) Src() Endpoint { return p.key.end(p.backward, p.Six) }

// Dst returns the receiver.
func (p *Packet) Dst() Endpoint { return p.key.end(!p.backward, p.Six) }

// PayloadLen returns the bytes of payload by the packet's own lengths, also where
// the capture has fewer.
func (p *Packet) PayloadLen() int { return max(p.L3+p.Len-p.Payload, 0) }

// IsTCP reports whether the frame has a TCP header.
func (p *Packet) IsTCP() bool { return p.Proto == TCP && p.Transport }

// Decode looks at an Ethernet frame, of which it keeps nothing. It returns false
// where there is no IP header, or one that cannot be: shorter than 20 bytes, or
// longer than the packet. EtherType, VLANs and L3 are right then as well, but for a
// frame that ends within its Ethernet header or a tag: EtherType is 0 there.
func (p *Packet) Decode(frame []byte) bool {
	const header = 14
	// Emptied as a whole: a literal with its first fields would be built elsewhere
	// and copied. Below, what was just stored is not loaded again.
	*p = Packet{}
	if len(frame) < header {
		return false
	}
	kind, at := binary.BigEndian.Uint16(frame[12:]), header
	for isVLAN(kind) {
		if len(frame) < at+4 {
			return false
		}
		kind = binary.BigEndian.Uint16(frame[at+2:])
		at += 4
		p.VLANs++
	}
	p.EtherType, p.L3 = kind, at
	switch kind {
	case 0x0800:
		return p.four(frame, at)
	case 0x86dd:
		return p.six(frame, at)
	}
	return false
}

func isVLAN(t uint16) bool { return t == 0x8100 || t == 0x88a8 || t == 0x9100 }

// four is RFC 791 section 3.1.
func (p *Packet) four(frame []byte, at int) bool {
	b := frame[at:]
	if len(b) < 20 || b[0]>>4 != 4 {
		return false
	}
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 { // as a sender's own capture has it before segmentation
		total = len(b)
	}
	if head < 20 || head > len(b) || total < head {
		return false
	}
	have := min(total, len(b))
	proto, place := b[9], binary.BigEndian.Uint16(b[6:])
	p.Len, p.End, p.L4, p.Proto, p.ID = total, at+have, at+head, proto, uint32(binary.BigEndian.Uint16(b[4:]))
	var from, to uint16
	if place&0x3fff != 0 {
		p.Fragment, p.Offset = true, int(place&0x1fff)*8
	}
	if p.Payload = at + head; place&0x1fff == 0 {
		from, to = p.transport(b[head:have], at+head, total-head, proto)
	}
	src, dst := uint64(binary.BigEndian.Uint32(b[12:])), uint64(binary.BigEndian.Uint32(b[16:]))
	backward := src > dst || src == dst && from > to
	if backward {
		src, dst, from, to = dst, src, to, from
	}
	p.backward = backward
	p.key.addr[0][1], p.key.addr[1][1] = src, dst
	p.key.ports, p.key.proto = uint32(from)<<16|uint32(to), uint16(proto)
	return true
}

// six is RFC 8200 sections 3 and 4.
func (p *Packet) six(frame []byte, at int) bool {
	b := frame[at:]
	if len(b) < 40 || b[0]>>4 != 6 {
		return false
	}
	total := 40 + int(binary.BigEndian.Uint16(b[4:]))
	if total == 40 {
		total = len(b)
	}
	p.Six, p.Len, p.End, p.L4, p.Proto = true, total, at+min(total, len(b)), at+40, b[6]
	for extension(p.Proto) && p.Offset == 0 {
		if p.L4+8 > p.End {
			break
		}
		h := frame[p.L4:p.End]
		n := 8 + int(h[1])*8
		switch p.Proto {
		case 44: // fragment
			n = 8
			place := binary.BigEndian.Uint16(h[2:])
			p.Fragment = p.Fragment || place&0xfff9 != 0
			p.Offset, p.ID = int(place&0xfff8), binary.BigEndian.Uint32(h[4:])
		case 51: // authentication, RFC 4302 section 2.2
			n = (int(h[1]) + 2) * 4
		}
		if p.L4+n > p.End {
			break
		}
		p.Proto = h[0]
		p.L4 += n
	}
	var from, to uint16
	if p.Payload = p.L4; p.Offset == 0 {
		from, to = p.transport(frame[p.L4:p.End], p.L4, at+total-p.L4, p.Proto)
	}
	word := binary.BigEndian.Uint64
	src, dst := [2]uint64{word(b[8:]), word(b[16:])}, [2]uint64{word(b[24:]), word(b[32:])}
	order := cmp.Or(cmp.Compare(src[0], dst[0]), cmp.Compare(src[1], dst[1]), cmp.Compare(from, to))
	if p.backward = order > 0; p.backward {
		src, dst, from, to = dst, src, to, from
	}
	p.key = key{[2][2]uint64{src, dst}, uint32(from)<<16 | uint32(to), uint16(p.Proto) | sixProto}
	return true
}

func extension(next uint8) bool {
	switch next {
	case 0, 43, 44, 51, 60, 135, 139, 140:
		return true
	}
	return false
}

// transport looks at what the IP packet carries, of which b was captured: length
// bytes from the offset at on. It returns the ports.
func (p *Packet) transport(b []byte, at, length int, proto uint8) (from, to uint16) {
	switch proto {
	case TCP:
		if len(b) < 20 {
			return 0, 0
		}
		p.Seq, p.Ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
		p.Flags, p.Window = b[13], binary.BigEndian.Uint16(b[14:])
		head := int(b[12]>>4) * 4
		if head < 20 || head > length { // not sound: nothing counts as payload
			head = len(b)
		}
		p.Payload = at + min(head, len(b))
	case UDP, Lite:
		if len(b) < 8 {
			return 0, 0
		}
		p.Payload = at + 8
	case SCTP, DCCP:
		if len(b) < 12 {
			return 0, 0
		}
	default:
		return 0, 0
	}
	p.Transport = true
	return binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
}
