package wire

// UDP destination ports of tunnels.
const (
	portGTPU       = 2152 // 3GPP TS 29.281 section 4.4.2
	portVXLAN      = 4789 // RFC 7348 section 5
	portVXLANLinux = 8472 // what Linux took before there was 4789
)

// gre looks into a GRE header (RFC 2784, RFC 2890):
//
//	 0 1   2 3 4          13   16               32
//	├─┬─┬─┬─┬────────────┬─────┬────────────────┤
//	│C│0│K│S│ 0          │ 0   │ EtherType      │
//	├─┴─┴─┴─┴────────────┴─────┼────────────────┤
//	│ checksum, if C           │ 0              │
//	│ key, if K                                 │
//	│ sequence number, if S                     │
//	└───────────────────────────────────────────┘
func (s *Stack) gre(at int, d datagram) {
	if d.end-at < 4 {
		return
	}
	flags, et := s.u16(at), s.u16(at+2)
	if flags&0x4007 != 0 { // routing (RFC 1701) or version 1 (PPTP)
		return
	}
	n := 4
	for _, bit := range []uint16{0x8000, 0x2000, 0x1000} {
		if flags&bit != 0 {
			n += 4
		}
	}
	if n > d.end-at {
		return
	}
	if flags&0x8000 != 0 {
		s.sum(checksum{at: at + 4, from: at, to: d.end, proto: protoGRE, whole: d.whole})
	}
	if et == etherTypeBridged {
		s.ethernet(at+n, d.end, d.level+1, d.quoted, d.whole)
		return
	}
	s.ip(et, at+n, d)
}

// gtpu looks into a GTP-U header (3GPP TS 29.281 sections 5.1 and 5.2):
//
//	├─────────────────┬──────────┬──────────────────┤
//	│ 001 1 0 E S PN  │ type     │ length after 8   │
//	│ TEID                                          │
//	│ sequence number, N-PDU number, next extension │ if E, S or PN
//	│ length in 4 bytes, content, next extension    │ while there is a next one
//	└───────────────────────────────────────────────┘
func (s *Stack) gtpu(at int, d datagram) {
	f := s.frame
	if d.end-at < 8 || f[at]&0xf0 != 0x30 || d.level+1 >= MaxLevels {
		return
	}
	n := int(s.u16(at + 2))
	if 8+n > d.end-at {
		d.whole = false
	}
	d.end = min(d.end, at+8+n)
	if !s.head(KindGTPU, d.level, d.quoted, at, d.end) || f[at+1] != 255 { // a G-PDU carries a packet
		return
	}
	off := at + 8
	if f[at]&0x07 != 0 {
		off += 4
		if off > d.end {
			return
		}
		if f[at]&0x04 != 0 {
			for next := f[off-1]; next != 0; next = f[off-1] {
				if off >= d.end || f[off] == 0 {
					return
				}
				off += int(f[off]) * 4
				if off > d.end {
					return
				}
			}
		}
	}
	if off >= d.end {
		return
	}
	switch f[off] >> 4 {
	case 4:
		s.ip(EtherTypeIPv4, off, d)
	case 6:
		s.ip(EtherTypeIPv6, off, d)
	}
}

// vxlan looks into a VXLAN header (RFC 7348 section 5): a flag that says the
// network identifier is valid, and 7 bytes of which 3 are the identifier.
func (s *Stack) vxlan(at int, d datagram) {
	if d.end-at >= 8 && s.frame[at]&0x08 != 0 {
		s.ethernet(at+8, d.end, d.level+1, d.quoted, d.whole)
	}
}

// ip looks at a packet within a tunnel.
func (s *Stack) ip(et uint16, at int, d datagram) {
	switch et {
	case EtherTypeIPv4:
		s.ipv4(at, d.end, d.level+1, d.quoted, d.whole)
	case EtherTypeIPv6:
		s.ipv6(at, d.end, d.level+1, d.quoted, d.whole)
	}
}
