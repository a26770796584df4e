package plan

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"squall/internal/wire"
)

// Mode is how a field varies.
type Mode uint8

const (
	// Step: Start + n*Step, n going round Count; a decrement has a negative
	// step in two's complement.
	Step Mode = iota
	// List: the values of the list in turn.
	List
	// Draw: Start + a seeded random number below Count.
	Draw
)

// Patch is one field that varies from frame to frame. It is read and written
// through a window of 2, 4 or 8 bytes at an even offset, so that its effect on
// a checksum is the difference of the window's 16-bit words:
//
//	Off                    Off+Width
//	 ├───────────────────────┤
//	 │   .....vvvvvvvvvv...  │    v: Mask << Shift
//	 └───────────────────────┘
type Patch struct {
	Off   int
	Width int
	Shift uint
	Mask  uint64 // of the field's width, right-aligned

	Mode  Mode
	Start uint64
	Step  uint64
	Count uint64 // values before it goes round; 0: the field's whole range
	Every uint64 // frames (or flows) that share one value, at least 1
	List  []uint64
	Salt  uint64 // of Draw: keeps the fields of a stream apart

	sums uint8
}

func (f *Patch) check(s *Stream) error {
	if f.Off%2 != 0 || f.Width != 2 && f.Width != 4 && f.Width != 8 {
		return fmt.Errorf("patch window of %d bytes at offset %d", f.Width, f.Off)
	}
	if f.Mode == List && len(f.List) == 0 {
		return fmt.Errorf("patch at offset %d: empty list", f.Off)
	}
	end := s.Sizes.Min() - s.Pad
	if s.Tag == TagEnd {
		end -= wire.TagLen
	}
	if f.Off < 0 || f.Off+f.Width > end {
		return fmt.Errorf("field that varies at offset %d does not fit into the smallest frame, size %d", f.Off, s.Sizes.Min()+wire.FCSLen)
	}
	f.Every = max(f.Every, 1)
	f.sums = s.covering(f.span())
	return nil
}

// span returns the bytes that vary: of the window's others, nothing is added to
// a sum.
func (f *Patch) span() (off, n int) {
	first := 8*f.Width - int(f.Shift) - bits.Len64(f.Mask)
	end := 8*f.Width - int(f.Shift)
	return f.Off + first/8, (end+7)/8 - first/8
}

// Value returns the field's value for index n: the flow, or the stream's frame.
func (f *Patch) Value(seed, n uint64) uint64 {
	if f.Every > 1 {
		n /= f.Every
	}
	switch f.Mode {
	case List:
		return f.List[n%uint64(len(f.List))] & f.Mask
	case Draw:
		r := Random(seed^f.Salt, n)
		if f.Count > 0 {
			r, _ = bits.Mul64(r, f.Count)
		}
		return (f.Start + r) & f.Mask
	default:
		if f.Count > 0 {
			n %= f.Count
		}
		return (f.Start + n*f.Step) & f.Mask
	}
}

// apply writes value v of the field into frame and returns what that adds to
// the sums that cover it.
func (f *Patch) apply(frame []byte, v uint64) uint64 {
	b := frame[f.Off : f.Off+f.Width]
	old := load(b)
	now := old&^(f.Mask<<f.Shift) | v<<f.Shift
	store(b, now)
	return uint64(wire.Fold(words(now))) + uint64(^wire.Fold(words(old)))
}

// Apply writes the field for index n into a head and keeps the checksums of the
// stream, which is built: how the fields linked to a flow are prebuilt.
func (f *Patch) Apply(s *Stream, head []byte, n uint64) {
	var acc [MaxSums]uint64
	add(&acc, s.covering(f.span()), f.apply(head, f.Value(s.Seed, n)))
	s.settle(head, &acc)
}

func load(b []byte) uint64 {
	switch len(b) {
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	}
	return binary.BigEndian.Uint64(b)
}

func store(b []byte, v uint64) {
	switch len(b) {
	case 2:
		binary.BigEndian.PutUint16(b, uint16(v))
	case 4:
		binary.BigEndian.PutUint32(b, uint32(v))
	default:
		binary.BigEndian.PutUint64(b, v)
	}
}

// words returns the sum of the 16-bit words of v.
func words(v uint64) uint64 { return v>>48 + v>>32&0xffff + v>>16&0xffff + v&0xffff }
