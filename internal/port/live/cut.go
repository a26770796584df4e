package live

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"squall/internal/plan"
	"squall/internal/wire"
)

// cut says which part of a generated stream's work is done once, in its images,
// and which the program does for each frame.
//
//	│◄──────── image ────────►│◄─────── body, or zeros ───────►│
//	│ head of the flow │ body │ body                     │ tag │ pad │
//
// The image is the whole frame up to the tag where that is small and of one size.
type cut struct {
	s      *plan.Stream
	image  int  // bytes
	base   int  // up to here all is written, by image, body and tag: a page may begin so long
	single bool // all frames have the size class class
	class  int
	tagged uint8 // sums that what the frame is known by counts into
	active uint8 // sums that the program must keep right
}

func newCut(s *plan.Stream) *cut {
	z := &s.Sizes
	c := &cut{s: s}
	switch {
	case len(z.Lens) == 1:
		c.single = true
	case len(z.Cycle) == 1:
		c.single, c.class = true, int(z.Cycle[0])
	}
	// Padding is only part of the image where it is always in the same place.
	whole := z.Min() - s.Pad
	if c.single {
		whole = z.Lens[c.class]
	}
	c.image, c.base = whole, whole
	if whole > smallImage {
		c.image = max(s.Heads.Max(), wire.HeaderLen)
		c.base = c.image
		if c.single && s.Pad == 0 && c.body() != nil {
			c.base = whole
		}
	} else if c.single && s.Pad == 0 && s.Tag == plan.TagEnd {
		c.image -= wire.TagLen
	}

	switch s.Tag {
	case plan.TagEnd:
		for k := range s.Sums {
			if s.Sums[k].To == 0 {
				c.tagged |= 1 << k
			}
		}
	case plan.TagID:
		c.tagged = s.IDSums()
	}
	c.active = 1<<len(s.Sums) - 1
	if c.single {
		c.active = c.tagged
		for k := range s.Patches {
			c.active |= s.Patches[k].Covering()
		}
		for k := range s.Sums {
			if c.active&(1<<k) != 0 {
				c.active |= s.Sums[k].Outer()
			}
		}
	}
	return c
}

// squeeze turns a mask of the stream's sums into one of those that are active.
func (c *cut) squeeze(mask uint8) uint8 {
	var out uint8
	n := 0
	for k := range c.s.Sums {
		if c.active&(1<<k) == 0 {
			continue
		}
		if mask&(1<<k) != 0 {
			out |= 1 << n
		}
		n++
	}
	return out
}

// draw makes the image of a flow in dst, which has the image's length. frame is
// room for the longest frame.
//
// In a stream of one size what the size adds to the checksums is done here. A
// checksum that nothing else changes is then as it goes out; one that is kept up
// stays 0 where it comes out 0, so that adding to it later gives the same.
func (c *cut) draw(dst, frame []byte, flow uint64) {
	s := c.s
	if !c.single {
		f := frame[:s.Sizes.Min()]
		s.Fill(f, flow)
		copy(dst, f)
		return
	}
	f := frame[:s.Sizes.Lens[c.class]]
	s.Fill(f, flow)
	var acc [plan.MaxSums]uint64
	for k := range s.Sums {
		acc[k] = uint64(s.Sums[k].BySize(c.class))
	}
	for k := range s.Sums {
		q := &s.Sums[k]
		field := f[q.Off : q.Off+2]
		old := binary.BigEndian.Uint16(field)
		now := wire.Adjust(old, acc[k])
		if now == 0 && q.ZeroIsOnes && c.active&(1<<k) == 0 {
			now = 0xffff
		}
		binary.BigEndian.PutUint16(field, now)
		for m := q.Outer(); m != 0; m &= m - 1 {
			acc[bits.TrailingZeros8(m)] += wire.Delta(old, now)
		}
	}
	copy(dst, f)
}

// body returns what follows the image in the longest frame, padding and, where it
// always has the same place, tag apart; nil where that is all zeros.
func (c *cut) body() []byte {
	s := c.s
	n := s.Sizes.Max()
	if c.single {
		n = s.Sizes.Lens[c.class]
	}
	frame := make([]byte, n)
	s.Fill(frame, 0)
	end := n - s.Pad
	if c.single && s.Tag == plan.TagEnd {
		end -= wire.TagLen
	}
	if c.image >= end {
		return nil
	}
	body := frame[c.image:end]
	if !slices.ContainsFunc(body, func(b byte) bool { return b != 0 }) {
		return nil
	}
	return body
}
