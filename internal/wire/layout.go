package wire

import "encoding/binary"

// EtherTypes (IEEE 802 numbers) and IP protocol numbers (IANA) named here.
const (
	EtherTypeIPv4 = 0x0800
	EtherTypeARP  = 0x0806
	EtherTypeVLAN = 0x8100 // IEEE 802.1Q
	EtherTypeQinQ = 0x88a8 // IEEE 802.1ad
	EtherTypeIPv6 = 0x86dd

	ProtoICMP   = 1
	ProtoTCP    = 6
	ProtoUDP    = 17
	ProtoICMPv6 = 58
)

const (
	// HeaderLen is the length of an Ethernet header without VLAN tags.
	HeaderLen = 14
	// FCSLen is what the frame check sequence adds to a frame on the wire. A
	// frame's size counts it, a frame in memory does not hold it.
	FCSLen = 4
	// MinLen is the shortest frame without FCS that Ethernet carries (IEEE
	// 802.3 section 3.2.8): a size of 64. Shorter ones are padded on the way.
	MinLen = 60
	// Overhead is what a frame costs on the wire beyond its size: preamble and
	// start delimiter (8) and the least inter-frame gap (12).
	Overhead = 20
)

// Layout says where the layers of one frame begin. The zero value belongs to a
// frame too short for an Ethernet header.
type Layout struct {
	EtherType uint16 // after any VLAN tags
	Proto     uint8  // IP protocol of the upper layer; 0 where there is no IP
	VLANs     uint8  // 802.1Q and 802.1ad tags
	Fragment  bool   // an IP fragment: at most the first has an L4 header
	L3        int    // first byte after the EtherType
	L4        int    // first byte after the IP header and its options or extension headers; 0 where there is none
	End       int    // first byte after the IP payload, at most the frame's length; the frame's length where there is no IP
}

// IP reports whether the frame carries IPv4 or IPv6 with an intact header.
func (l Layout) IP() bool { return l.L4 != 0 }

// Parse finds the layers of frame. It never fails: where a header is cut short
// or contradicts itself the layout stops at the last sound layer, so End is
// never past len(frame). IP lengths of 0 (a TSO frame captured before
// segmentation, jumbograms) count as "to the end of the frame".
func Parse(frame []byte) Layout {
	var l Layout
	if len(frame) < HeaderLen {
		return l
	}
	l.EtherType = binary.BigEndian.Uint16(frame[12:])
	l.L3 = HeaderLen
	for l.EtherType == EtherTypeVLAN || l.EtherType == EtherTypeQinQ {
		if len(frame) < l.L3+4 {
			break
		}
		l.EtherType = binary.BigEndian.Uint16(frame[l.L3+2:])
		l.L3 += 4
		l.VLANs++
	}
	l.End = len(frame)
	switch l.EtherType {
	case EtherTypeIPv4:
		l.ipv4(frame)
	case EtherTypeIPv6:
		l.ipv6(frame)
	}
	return l
}

func (l *Layout) ipv4(frame []byte) {
	ip := frame[l.L3:]
	if len(ip) < 20 || ip[0]>>4 != 4 {
		return
	}
	header := int(ip[0]&0x0f) * 4
	total := int(binary.BigEndian.Uint16(ip[2:]))
	if total == 0 {
		total = len(ip)
	}
	if header < 20 || header > len(ip) || total < header {
		return
	}
	l.Proto = ip[9]
	l.L4 = l.L3 + header
	l.Fragment = binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 // MF or an offset (RFC 791)
	l.End = l.L3 + min(total, len(ip))
}

// IPv6 extension headers that Parse steps over (RFC 8200 section 4.1).
const (
	hopByHop    = 0
	routing     = 43
	fragment    = 44
	destination = 60
)

func (l *Layout) ipv6(frame []byte) {
	ip := frame[l.L3:]
	if len(ip) < 40 || ip[0]>>4 != 6 {
		return
	}
	payload := int(binary.BigEndian.Uint16(ip[4:]))
	if payload == 0 {
		payload = len(ip) - 40
	}
	end := min(40+payload, len(ip))
	next, off := ip[6], 40
	for {
		var n int
		switch next {
		case hopByHop, routing, destination:
			if off+2 > end {
				return
			}
			n = 8 + int(ip[off+1])*8
		case fragment:
			if off+8 > end {
				return
			}
			n = 8
			at := binary.BigEndian.Uint16(ip[off+2:])
			l.Fragment = at&0xfff9 != 0
			if at&0xfff8 != 0 { // not the first: what follows is no header
				l.Proto, l.L4, l.End = ip[off], l.L3+off+n, l.L3+end
				return
			}
		default:
			l.Proto = next
			l.L4 = l.L3 + off
			l.End = l.L3 + end
			return
		}
		if off+n > end {
			return
		}
		next, off = ip[off], off+n
	}
}
