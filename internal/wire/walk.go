package wire

import "encoding/binary"

// EtherTypes and IP protocol numbers that only a Stack looks at.
const (
	etherTypeVLAN9100 = 0x9100 // QinQ before IEEE 802.1ad
	etherTypeBridged  = 0x6558 // Ethernet in GRE

	protoIPv4    = 4
	protoDCCP    = 33
	protoIPv6    = 41
	protoGRE     = 47
	protoAH      = 51
	protoUDPLite = 136
)

// IsVLAN reports whether an EtherType is that of a VLAN tag: 0x8100 (IEEE
// 802.1Q), 0x88a8 (802.1ad) or 0x9100 (what QinQ used before).
func IsVLAN(et uint16) bool {
	return et == EtherTypeVLAN || et == EtherTypeQinQ || et == etherTypeVLAN9100
}

// ethernet looks at a frame of which the bytes from at to end are there; whole
// says that there are no others.
func (s *Stack) ethernet(at, end int, level uint8, quoted, whole bool) {
	if end-at < HeaderLen || level >= MaxLevels {
		return
	}
	et, l3 := s.u16(at+12), at+HeaderLen
	for IsVLAN(et) && end-l3 >= 4 {
		et, l3 = s.u16(l3+2), l3+4
	}
	if !s.head(KindEthernet, level, quoted, at, end) {
		return
	}
	switch et {
	case EtherTypeIPv4:
		s.ipv4(l3, end, level, quoted, whole)
	case EtherTypeIPv6:
		s.ipv6(l3, end, level, quoted, whole)
	case EtherTypeARP: // Ethernet (1), IPv4, addresses of 6 and 4 bytes
		if end-l3 >= 28 && binary.BigEndian.Uint64(s.frame[l3:])>>16 == 0x0001_0800_0604 {
			s.head(KindARP, level, quoted, l3, l3+28)
		}
	}
}

// datagram is an IP header as the headers behind it see it.
type datagram struct {
	level    uint8
	quoted   bool
	first    bool // the first of several fragments
	whole    bool // all it claims to have is in the frame
	end      int  // of its payload
	src, dst int  // the addresses of the pseudo-header
	size     int  // of one address
}

func (s *Stack) ipv4(at, end int, level uint8, quoted, whole bool) {
	ip := s.frame[at:end]
	if level >= MaxLevels || len(ip) < 20 || ip[0]>>4 != 4 {
		return
	}
	header, total := int(ip[0]&0x0f)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if total == 0 { // TSO as captured
		total = len(ip)
	}
	if header < 20 || header > len(ip) || total < header {
		return
	}
	part := binary.BigEndian.Uint16(ip[6:])
	d := datagram{
		level: level, quoted: quoted, first: part&0x3fff == 0x2000,
		whole: whole && total <= len(ip) && part&0x3fff == 0,
		end:   at + min(total, len(ip)),
		src:   at + 12, dst: at + 16, size: 4,
	}
	if !s.head(KindIPv4, level, quoted, at, d.end) {
		return
	}
	s.heads[s.n-1].Fragment, s.heads[s.n-1].More = part&0x3fff != 0, part&0x2000 != 0
	s.sum(checksum{at: at + 10, from: at, to: at + header, whole: true})
	if part&0x1fff != 0 { // not the first: what follows is no header
		return
	}
	if last := sourceRoute(ip[20:header]); last > 0 {
		d.dst = at + 20 + last
	}
	s.upper(ip[9], at+header, d)
}

// sourceRoute returns where the last address of a source route stands that has
// not been travelled to its end, 0 where there is none: it is the destination
// that counts in checksums (RFC 791 section 3.1, RFC 1122 section 3.2.1.8).
func sourceRoute(options []byte) int {
	for at := 0; at < len(options); {
		switch options[at] {
		case 0:
			return 0
		case 1:
			at++
			continue
		}
		if at+2 > len(options) {
			return 0
		}
		n := int(options[at+1])
		if n < 2 || at+n > len(options) {
			return 0
		}
		if kind := options[at]; (kind == 131 || kind == 137) && n >= 7 && int(options[at+2]) <= n {
			return at + n - 4
		}
		at += n
	}
	return 0
}

func (s *Stack) ipv6(at, end int, level uint8, quoted, whole bool) {
	ip := s.frame[at:end]
	if level >= MaxLevels || len(ip) < 40 || ip[0]>>4 != 6 {
		return
	}
	payload := int(binary.BigEndian.Uint16(ip[4:]))
	if payload == 0 { // a jumbogram, or TSO as captured
		payload = len(ip) - 40
	}
	d := datagram{
		level: level, quoted: quoted, whole: whole && 40+payload <= len(ip),
		end: at + min(40+payload, len(ip)),
		src: at + 8, dst: at + 24, size: 16,
	}
	if !s.head(KindIPv6, level, quoted, at, d.end) {
		return
	}
	self := &s.heads[s.n-1]
	next, off := ip[6], at+40
	for {
		n := 8
		switch next {
		case hopByHop, routing, destination, fragment:
			if off+8 > d.end {
				return
			}
		default:
			s.upper(next, off, d)
			return
		}
		if next == fragment {
			part := s.u16(off + 2)
			self.Fragment, self.More = part&0xfff9 != 0, part&1 != 0
			d.first = part&0xfff9 == 1
			d.whole = d.whole && part&0xfff9 == 0
			if part&0xfff8 != 0 {
				return
			}
		} else if n += int(s.frame[off+1]) * 8; off+n > d.end {
			return
		}
		if next == routing && s.frame[off+3] > 0 && n >= 24 {
			// Not at its last hop: the last address counts in checksums (RFC 8200
			// section 8.1). A segment routing header (RFC 8754) has it first.
			switch s.frame[off+2] {
			case 0, 2:
				d.dst = off + (n-8)/16*16 - 8
			case 4:
				d.dst = off + 8
			}
		}
		next, off = s.frame[off], off+n
	}
}

// upper looks at the header behind IP.
func (s *Stack) upper(proto uint8, at int, d datagram) {
	for proto == protoAH { // RFC 4302 section 2
		if d.end-at < 12 {
			return
		}
		n := (int(s.frame[at+1]) + 2) * 4
		if n < 12 || n > d.end-at {
			return
		}
		proto, at = s.frame[at], at+n
	}
	have := d.end - at
	sum := checksum{from: at, to: d.end, src: d.src, dst: d.dst, size: d.size, proto: proto, whole: d.whole}
	switch proto {
	case ProtoTCP:
		sum.at = at + 16
		if have >= 4 && s.head(KindTCP, d.level, d.quoted, at, d.end) {
			s.behind(sum, d)
		}
	case ProtoUDP:
		s.udp(at, sum, d)
	case protoUDPLite, protoDCCP: // only the pseudo-header is followed
		sum.at, sum.to, sum.whole = at+6, at, false
		s.behind(sum, d)
	case ProtoICMP:
		sum.at, sum.src = at+2, 0
		s.icmp(at, sum, d)
	case ProtoICMPv6:
		sum.at = at + 2
		s.icmp(at, sum, d)
	case protoGRE:
		s.gre(at, d)
	case protoIPv4:
		s.ipv4(at, d.end, d.level+1, d.quoted, d.whole)
	case protoIPv6:
		s.ipv6(at, d.end, d.level+1, d.quoted, d.whole)
	}
}

// behind notes the checksum of an upper layer, if the frame holds it.
func (s *Stack) behind(c checksum, d datagram) bool {
	if c.at+2 > d.end {
		s.apart = s.apart || d.first && !d.quoted
		return false
	}
	s.sum(c)
	return true
}

func (s *Stack) udp(at int, c checksum, d datagram) {
	have := d.end - at
	if have < 4 {
		return
	}
	end := d.end
	if have >= 6 {
		switch n := int(s.u16(at + 4)); {
		case n == 0: // longer than 65,535 bytes, as captured
		case n < 8 || n > have:
			c.whole, d.whole = false, false
		default:
			end = at + n
		}
	}
	c.at, c.to = at+6, end
	if !s.head(KindUDP, d.level, d.quoted, at, end) {
		return
	}
	if have < 8 {
		s.behind(c, d)
		return
	}
	if s.u16(c.at) != 0 {
		s.behind(c, d)
	}
	d.end = end
	switch s.u16(at + 2) {
	case portGTPU:
		s.gtpu(at+8, d)
	case portVXLAN, portVXLANLinux:
		s.vxlan(at+8, d)
	}
}

// icmp looks at what errors quote (RFC 792, RFC 4443 section 2.1) and at whom
// neighbour messages are about.
func (s *Stack) icmp(at int, c checksum, d datagram) {
	if !s.behind(c, d) || d.end-at < 8 {
		return
	}
	kind, v6 := s.frame[at], c.proto == ProtoICMPv6
	switch {
	case v6 && (kind == 135 || kind == 136) && d.end-at >= 24 && !d.quoted:
		s.head(KindNeighbor, d.level, false, at, d.end)
	case d.quoted: // there are no errors about errors
	case v6 && kind >= 1 && kind <= 4:
		s.ipv6(at+8, d.end, d.level, true, false)
	case !v6 && (kind == 3 || kind == 4 || kind == 5 || kind == 11 || kind == 12):
		s.ipv4(at+8, d.end, d.level, true, false)
	}
}

func (s *Stack) u16(at int) uint16 { return binary.BigEndian.Uint16(s.frame[at:]) }
