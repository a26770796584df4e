package plan

import (
	"encoding/binary"

	"squall/internal/wire"
)

// Spot is a part of a frame that a bit is flipped in.
type Spot uint8

const (
	// Payload is what follows the transport header; of a fragment, or where squall
	// knows no such header, what follows the IP header; without IP, what follows
	// the EtherType.
	Payload Spot = iota + 1
	// Header is the header of TCP, UDP, ICMP or ICMPv6 from its fifth byte on:
	// without the ports, which say whose frame it is, and without the checksum.
	Header
	// Checksum is that of TCP, UDP, ICMP or ICMPv6.
	Checksum
	// IPChecksum is that of the IPv4 header, which a router has to verify (RFC 1812
	// section 5.2.2).
	IPChecksum
)

// Flip says which bit of a frame is wrong: the spot, and a random number that
// picks the bit in it. 0: none.
type Flip uint32

const spotShift = 28

// NewFlip returns the flip of a bit of the spot, drawn by r.
func NewFlip(at Spot, r uint64) Flip {
	return Flip(at)<<spotShift | Flip(r&(1<<spotShift-1))
}

// Spot returns where the bit is to be, 0 where none is.
func (f Flip) Spot() Spot { return Spot(f >> spotShift) }

// Apply flips the bit. A tag of squall at the end of the payload is left alone: its
// receiver still knows the frame.
func (f Flip) Apply(frame []byte) {
	if bit := f.Bit(frame); bit >= 0 {
		frame[bit/8] ^= 0x80 >> (bit % 8)
	}
}

// Bit returns which bit of the frame is flipped, from 0, the highest bit of a byte
// first; -1 for none. A frame without the spot gets it in the payload, one without
// payload in the header, one without either in its last byte.
func (f Flip) Bit(frame []byte) int {
	if f == 0 || len(frame) == 0 {
		return -1
	}
	var s spots
	s.find(frame)
	from, to := s[f.Spot()].from, s[f.Spot()].to
	for _, next := range []Spot{Payload, Header} {
		if from >= to {
			from, to = s[next].from, s[next].to
		}
	}
	if from >= to {
		from, to = len(frame)-1, len(frame)
	}
	n := 8 * (to - from)
	if c := s[Checksum]; f.Spot() != Checksum && from < c.from && c.to <= to { // TCP: the checksum stands amid the header
		n -= 8 * (c.to - c.from)
	}
	bit := 8*from + int(uint32(f)&(1<<spotShift-1))%n
	if c := s[Checksum]; f.Spot() != Checksum && from < c.from && c.to <= to && bit >= 8*c.from {
		bit += 8 * (c.to - c.from)
	}
	return bit
}

// spots are the bytes of each Spot; empty where the frame has none.
type spots [IPChecksum + 1]struct{ from, to int }

func (s *spots) set(at Spot, from, to int) { s[at].from, s[at].to = from, max(from, to) }

func (s *spots) find(frame []byte) {
	l := wire.Parse(frame)
	if l.L3 == 0 {
		return
	}
	end := l.End
	if off := end - wire.TagLen; off >= wire.HeaderLen {
		if _, ours := wire.ReadTag(frame[off:end]); ours {
			end = off
		}
	}
	if !l.IP() {
		s.set(Payload, l.L3, end)
		return
	}
	if l.EtherType == wire.EtherTypeIPv4 {
		s.set(IPChecksum, l.L3+10, l.L3+12)
	}
	header, sum := transport(frame, l)
	s.set(Payload, l.L4+header, end)
	if header > 0 {
		s.set(Checksum, l.L4+sum, l.L4+sum+2)
		s.set(Header, l.L4+4, l.L4+header)
		if sum+2 == header { // UDP: the checksum ends the header
			s.set(Header, l.L4+4, l.L4+sum)
		}
	}
}

// transport returns the length of the transport header and where its checksum
// stands; 0 where there is none.
func transport(frame []byte, l wire.Layout) (header, sum int) {
	b := frame[l.L4:l.End]
	switch {
	case l.Fragment:
	case l.Proto == wire.ProtoUDP && len(b) >= 8:
		return 8, 6
	case (l.Proto == wire.ProtoICMP || l.Proto == wire.ProtoICMPv6) && len(b) >= 8:
		return 8, 2
	case l.Proto == wire.ProtoTCP && len(b) >= 20:
		return min(max(4*int(binary.BigEndian.Uint16(b[12:])>>12), 20), len(b)), 16
	}
	return 0, 0
}
