package plan

import (
	"encoding/binary"

	"squall/internal/wire"
)

// Sum is one Internet checksum to be kept right.
type Sum struct {
	// Off is where the 16-bit field stands.
	Off int
	// From and To bound the bytes that are summed; To 0 is the end of the
	// payload. From is even.
	From, To int
	// Addr and AddrLen are the addresses of the pseudo-header (RFC 768, RFC
	// 9293, RFC 8200 section 8.1), which also has the payload's length; AddrLen
	// is 0 where there is none (IPv4 header, ICMP).
	Addr, AddrLen int
	// ZeroIsOnes writes 0xffff for a checksum that comes out 0: in UDP a field of
	// 0 says that there is none (RFC 768). Either is right, unless all that is
	// summed is zeros: then only 0xffff is, and updates cannot tell, so where
	// that may be (an ICMP echo reply without content) it must be set as well.
	ZeroIsOnes bool

	bySize []uint16 // a size class: what it adds to the sum of the head
	outer  uint8    // sums that cover this field
}

func (c *Sum) covers(off, n int) bool {
	if off >= c.From && (c.To == 0 || off < c.To) {
		return true
	}
	return c.AddrLen > 0 && off+n > c.Addr && off < c.Addr+c.AddrLen
}

// sizeDeltas finds for every size class what its lengths and its part of the
// body add to each sum, by summing a frame of the class with an empty tag.
func (s *Stream) sizeDeltas() {
	if n := uint64(len(s.Sizes.Cycle)); n > 0 {
		s.turn = lcm(n, uint64(s.Heads.Len())*s.FlowRun)
	}
	frame := make([]byte, s.Sizes.Max())
	base := make([]uint16, len(s.Sums))
	for k := range s.Sums {
		s.Sums[k].bySize = make([]uint16, len(s.Sizes.Lens))
	}
	for c, n := range s.Sizes.Lens {
		f := frame[:n]
		s.fill(f, 0)
		end := n - s.Pad
		if s.Tag == TagEnd {
			clear(f[end-wire.TagLen : end])
		}
		for k := range s.Sums {
			q := &s.Sums[k]
			to := q.To
			if to == 0 {
				to = end
			}
			sum := wire.Sum(f[q.From:to])
			if q.AddrLen > 0 {
				sum += uint64(end - q.From)
			}
			if c == 0 {
				base[k] = wire.Fold(sum)
			}
			q.bySize[c] = wire.Fold(wire.Delta(base[k], wire.Fold(sum)))
		}
	}
}

// add counts delta into every sum of the mask.
func add(acc *[MaxSums]uint64, mask uint8, delta uint64) {
	for k := 0; mask != 0; k, mask = k+1, mask>>1 {
		if mask&1 != 0 {
			acc[k] += delta
		}
	}
}

// settle writes the checksums of frame after acc was added to what they sum,
// innermost first, since a checksum is itself data to the sums around it.
func (s *Stream) settle(frame []byte, acc *[MaxSums]uint64) {
	for k := range s.Sums {
		q := &s.Sums[k]
		field := frame[q.Off : q.Off+2]
		old := binary.BigEndian.Uint16(field)
		now := wire.Adjust(old, acc[k])
		if now == 0 && q.ZeroIsOnes {
			now = 0xffff
		}
		binary.BigEndian.PutUint16(field, now)
		if q.outer != 0 {
			add(acc, q.outer, wire.Delta(old, now))
		}
	}
}
