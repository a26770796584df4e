package plan

import (
	"errors"
	"fmt"
)

// MaxMoves bounds the frames that leave in one block of a Script.
const MaxMoves = 1 << 22

// Script is an order in which the frames of a plan leave that is not their own:
// some never, some twice, some later, some with a wrong bit. It is plain data and
// says what leaves, not why; package impair makes it.
//
//	frames of the plan   0 1 2 3 4 5 │ 6 7 8 9 10 11 │ 12 ...
//	                       First, once    Loop, over and over
//	leave                0 2 1 4 5   │ 6 8 7 10 11   │ 12 ...
//
// Frames keep the sequence numbers that they have without a script, so that what
// a receiver finds is relative to the plan's own order. Nothing moves from one
// block into another.
type Script struct {
	// First is what leaves first, once; empty: nothing.
	First Block
	// Loop is what leaves from then on, over and over. Of a plan with passes it
	// is one pass.
	Loop Block
}

// Block is so many frames of a plan and what becomes of them.
type Block struct {
	In     uint64 // frames of the plan that it takes up
	Moves  []Move // what leaves, in order
	Events []Event
}

// Move is one frame that leaves.
type Move struct {
	Frame uint32 // of the block, from 0
	Flip  Flip   // what is wrong with it
	Copy  bool   // it has left before
}

// Kind is what was done to frames.
type Kind uint8

// The kinds of impairments.
const (
	Drop      Kind = iota // a frame never leaves
	Duplicate             // copies leave right behind a frame
	Swap                  // two neighbours change places
	Hold                  // a frame leaves later
	Reorder               // a burst leaves in another order
	Corrupt               // a bit of a frame is wrong

	Kinds int = iota
)

var kinds = [Kinds]string{"drop", "duplicate", "swap", "hold", "reorder", "corrupt"}

func (k Kind) String() string { return kinds[k] }

// Event is one impairment.
type Event struct {
	Kind   Kind
	Frame  uint32 // the first frame it befell, of the block, from 0
	Frames uint32 // dropped, held or corrupted: 1; copies made; swapped: 2; of the burst
	// At is the place among Moves of the last frame that it takes to be done: of a
	// drop, the first frame behind the one that is missing; len(Moves) where none
	// is.
	At uint32
}

// check reports a script that contradicts the plan.
func (s *Script) check(p *Plan) error {
	if len(s.Loop.Moves) == 0 {
		return errors.New("script: no frame is left to send")
	}
	for _, b := range []*Block{&s.First, &s.Loop} {
		if len(b.Moves) > MaxMoves {
			return fmt.Errorf("script: have %d frames in a block, at most %d fit", len(b.Moves), MaxMoves)
		}
		if c := uint64(len(p.Order)); c > 1 && b.In%c != 0 {
			return fmt.Errorf("script: a block of %d frames is not a whole number of cycles of %d", b.In, c)
		}
		for i, m := range b.Moves {
			if uint64(m.Frame) >= b.In {
				return fmt.Errorf("script: move %d is of frame %d of %d", i, m.Frame, b.In)
			}
		}
	}
	return nil
}

// Place is where frame i of those that leave stands: in which block, which of its
// moves it is, how many turns of the loop were before it, and which frame of the
// plan is the block's first.
func (s *Script) Place(i uint64) (b *Block, move int, turns, base uint64) {
	if n := uint64(len(s.First.Moves)); i < n {
		return &s.First, int(i), 0, 0
	} else {
		i -= n
	}
	n := uint64(len(s.Loop.Moves))
	turns = i / n
	return &s.Loop, int(i % n), turns, s.First.In + turns*s.Loop.In
}

// Source returns which frame of the plan, in its own order, leaves as number i,
// and what is done to it.
func (p *Plan) Source(i uint64) (frame uint64, m Move) {
	if p.Script == nil {
		return i, Move{}
	}
	b, k, _, base := p.Script.Place(i)
	m = b.Moves[k]
	return base + uint64(m.Frame), m
}

// Covered returns how many frames of the plan, in its own order, have had their
// turn once n have left: those up to the last of them that left, and those that
// were dropped at the end of a block. A receiver may ask for no others.
func (p *Plan) Covered(n uint64) uint64 {
	if p.Script == nil || n == 0 {
		return n
	}
	b, k, _, base := p.Script.Place(n - 1)
	if k == len(b.Moves)-1 {
		return base + b.In
	}
	return base + b.covered(k+1)
}

// covered returns how many of the block's frames have had their turn with its
// first n moves.
func (b *Block) covered(n int) (c uint64) {
	for _, m := range b.Moves[:n] {
		c = max(c, uint64(m.Frame)+1)
	}
	return c
}

// Numbers returns how many sequence numbers of the stream at index k of Streams a
// receiver has to ask for once n frames have left.
func (p *Plan) Numbers(k int, n uint64) uint64 { return p.Among(k, p.Covered(n)) }

// Original makes frame f of the plan in dst as it is without a script. See Write.
func (p *Plan) Original(dst []byte, f uint64, now int64) int {
	s, j := p.entry(f)
	return s.Write(dst, j, now)
}

// Originals returns how many frames of the plan one pass has before a script is
// applied; 0: the plan never repeats.
func (p *Plan) Originals() uint64 {
	if p.Script == nil || p.Pass == 0 {
		return p.Pass
	}
	return p.Script.Loop.In
}

// Number returns which stream, by its index, frame f of the plan in its own order
// belongs to, and its sequence number there. Frame is the inverse.
func (p *Plan) Number(f uint64) (k int, j uint64) {
	_, j = p.entry(f)
	return p.stream(f), j
}

// Frame returns which frame of the plan in its own order has sequence number j of
// the stream at index k. The plan has a script.
func (p *Plan) Frame(k int, j uint64) uint64 {
	if len(p.Order) == 0 {
		return j
	}
	return j/p.cycle[k]*uint64(len(p.Order)) + uint64(p.slots[k][j%p.cycle[k]])
}

// Reach returns by how many frames of the plan at most a frame leaves behind a
// later one.
func (s *Script) Reach() (most uint32) {
	for _, b := range []*Block{&s.First, &s.Loop} {
		var high uint32
		for _, m := range b.Moves {
			high = max(high, m.Frame)
			most = max(most, high-m.Frame)
		}
	}
	return most
}

// tally is how many moves of a block each stream has.
func (p *Plan) tally(b *Block) []uint64 {
	n := make([]uint64, len(p.Streams))
	for _, m := range b.Moves {
		n[p.stream(uint64(m.Frame))]++
	}
	return n
}

// left returns how many of the first n frames that leave belong to the stream at
// index k.
func (p *Plan) left(k int, n uint64) uint64 {
	b, move, turns, _ := p.Script.Place(n)
	var sum uint64
	if b == &p.Script.Loop {
		sum = p.first[k] + turns*p.loop[k]
	}
	for _, m := range b.Moves[:move] {
		if p.stream(uint64(m.Frame)) == k {
			sum++
		}
	}
	return sum
}

// stream returns the index of the stream that frame f of the plan belongs to.
func (p *Plan) stream(f uint64) int {
	if len(p.Order) == 0 {
		return 0
	}
	return int(p.Order[f%uint64(len(p.Order))])
}

// mostMean bounds the work of scripted: beyond it sizes are taken to fall evenly
// on what leaves.
const mostMean = 1 << 24

// scripted returns the mean length of a frame of the stream at index k that leaves
// in the loop, as bytes of n frames.
//
// Where sizes and the loop have no common cycle each frame of the loop has every
// size in turn. Where they have one, g frames long, those that leave and those that
// do not may be of different sizes.
func (p *Plan) scripted(k int) (bytes, n uint64) {
	s, b := p.Streams[k], &p.Script.Loop
	if s.Sizes.Fixed() {
		if uint64(s.Heads.Len()) != b.In {
			return s.mean()
		}
		for _, m := range b.Moves {
			bytes += uint64(len(s.Heads.At(uint64(m.Frame))))
		}
		return bytes, uint64(len(b.Moves))
	}
	c := uint64(len(s.Sizes.Cycle))
	round := s.turn * c // after so many frames of the stream sizes come round
	in := p.Among(k, b.In)
	g := gcd(in, round)
	if c < 2 || s.turn%g == 0 || round > mostMean {
		return s.mean()
	}
	weight := make([]uint64, g)
	for _, m := range b.Moves {
		if p.stream(uint64(m.Frame)) == k {
			_, j := p.entry(p.Script.First.In + uint64(m.Frame))
			weight[j%g]++
		}
	}
	for j := range round {
		w := weight[j%g]
		bytes += w * uint64(s.Sizes.Lens[s.class(j)])
		n += w
	}
	return bytes, n
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
