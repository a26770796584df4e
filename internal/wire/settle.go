package wire

import (
	"bytes"
	"encoding/binary"
)

// checksum is one checksum field of a frame and what it is taken over.
type checksum struct {
	at       int // of the field
	from, to int // the bytes it covers; its own field counts as 0
	src, dst int // the addresses of its pseudo-header; 0: it has none
	size     int // of one address
	proto    uint8
	// whole: all that it covers is in the frame, so that it can be computed
	// anew. Otherwise only the difference of a change is known: fragments, frames
	// that were cut, what an ICMP error quotes.
	whole bool
	delta uint64 // of the sum, by the changes since Walk
}

// covers reports whether the bytes from at count in the checksum. All headers
// begin at even offsets, so do the covered parts.
func (c *checksum) covers(at int) bool {
	return at >= c.from && at < c.to && at != c.at || c.src != 0 && (at == c.src || at == c.dst)
}

func (s *Stack) sum(c checksum) {
	if s.s < len(s.sums) {
		s.sums[s.s] = c
		s.s++
	}
}

// Put writes with over the frame's bytes from at, which must be there, and
// notes by how much each checksum changes. It reports whether a byte changed.
// An address is put as a whole, no other field reaches into it.
func (s *Stack) Put(at int, with []byte) bool {
	old := s.frame[at : at+len(with)]
	if bytes.Equal(old, with) {
		return false
	}
	// Widened to whole words: what is beside the field does not change.
	words := s.frame[at&^1 : min((at+len(with)+1)&^1, len(s.frame))]
	before := Fold(Sum(words))
	copy(old, with)
	delta := Delta(before, Fold(Sum(words)))
	for i := range s.sums[:s.s] {
		if c := &s.sums[i]; c.covers(at) {
			c.delta += delta
		}
	}
	return true
}

// Settle writes the checksums that the changes since Walk touch, the innermost
// first, as each is a change of those around it. It adds the difference (RFC
// 1624): a checksum that was right is right again, one that was wrong is wrong
// by as much, and a UDP checksum of 0 (none) stays 0.
//
// With anew, every checksum whose whole cover is in the frame is computed from
// nothing instead, changed or not; the others are treated as without. Settle
// reports whether that changed a checksum other than the difference would have.
func (s *Stack) Settle(anew bool) (mended bool) {
	var field [2]byte
	for i := s.s - 1; i >= 0; i-- {
		c := &s.sums[i]
		was := binary.BigEndian.Uint16(s.frame[c.at:])
		now := was
		// A sum of 0 has two forms, 0x0000 and 0xffff, and adding 0 may turn one
		// into the other: what has not changed is left alone.
		if d := Fold(c.delta); d != 0 && d != 0xffff {
			now = c.sent(Adjust(was, c.delta))
		}
		c.delta = 0
		if anew && c.whole {
			if right := c.sent(^Fold(s.total(c))); right != now {
				now, mended = right, true
			}
		}
		binary.BigEndian.PutUint16(field[:], now)
		s.Put(c.at, field[:])
	}
	return mended
}

// sent returns the checksum as it is written: in UDP, 0 stands for none and
// 0xffff for a sum of 0 (RFC 768).
func (c *checksum) sent(sum uint16) uint16 {
	if sum == 0 && c.proto == ProtoUDP {
		return 0xffff
	}
	return sum
}

// total returns the sum of all that a checksum covers, its pseudo-header
// included (RFC 9293 section 3.1, RFC 8200 section 8.1).
func (s *Stack) total(c *checksum) uint64 {
	f := s.frame
	sum := Sum(f[c.from:c.at]) + Sum(f[c.at+2:c.to])
	if c.src != 0 {
		n := uint64(c.to - c.from)
		sum += Sum(f[c.src:c.src+c.size]) + Sum(f[c.dst:c.dst+c.size]) + uint64(c.proto) + n>>16 + n&0xffff
	}
	return sum
}
