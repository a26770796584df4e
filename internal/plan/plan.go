package plan

import (
	"errors"
	"fmt"
	"math/big"
)

// MaxOrder bounds the slots of an interleaving: streams whose rates have no
// common schedule within it are refused by whoever makes the order.
const MaxOrder = 1 << 20

// Plan is what one sender puts on one port, in order.
type Plan struct {
	// Streams are the sources. Their IDs differ.
	Streams []*Stream
	// Order says which stream frame i belongs to: Streams[Order[i%len(Order)]].
	// Empty where there is one stream.
	Order []uint16
	// Due holds for each frame of one pass, as they leave, when it is to go, in ns
	// from the first frame of the pass, rising; nil where a rate says when.
	Due []int64
	// Pass is how many frames leave in one pass: frame Pass is frame 0 again, with
	// its sequence number going on. 0: the plan never repeats.
	Pass uint64
	// Script, if not nil, says in which order frames leave. Whatever is asked of
	// frame i is then of the i-th that leaves, but for Original.
	Script *Script

	rank  []uint32 // earlier slots of the same stream, a slot
	cycle []uint64 // slots of a stream in one cycle, a stream
	max   int

	// Where there is a script: moves of its blocks and slots of the order, a stream.
	first, loop []uint64
	slots       [][]uint32
}

// New checks the plan and makes it ready. It returns an error where streams
// share an ID, the order names a stream that is not there or leaves one out, or
// due times fall.
func New(p Plan) (*Plan, error) {
	if len(p.Streams) == 0 {
		return nil, errors.New("plan without streams")
	}
	if len(p.Streams) > 1 && len(p.Order) == 0 {
		return nil, fmt.Errorf("plan of %d streams without an order", len(p.Streams))
	}
	if len(p.Order) > MaxOrder {
		return nil, fmt.Errorf("order of streams: have %d slots, at most %d fit", len(p.Order), MaxOrder)
	}
	ids := make(map[uint16]bool)
	for _, s := range p.Streams {
		if ids[s.ID] {
			return nil, fmt.Errorf("stream ID %d is used twice", s.ID)
		}
		ids[s.ID] = true
		p.max = max(p.max, s.MaxLen())
	}
	if p.Due != nil && uint64(len(p.Due)) != p.Pass {
		return nil, fmt.Errorf("due times: have %d, need one for each of %d frames", len(p.Due), p.Pass)
	}
	for i := 1; i < len(p.Due); i++ {
		if p.Due[i] < p.Due[i-1] {
			return nil, fmt.Errorf("due time of frame %d is before that of frame %d", i, i-1)
		}
	}
	p.cycle = make([]uint64, len(p.Streams))
	p.rank = make([]uint32, len(p.Order))
	for i, k := range p.Order {
		if int(k) >= len(p.Streams) {
			return nil, fmt.Errorf("slot %d of the order names stream %d of %d", i, k, len(p.Streams))
		}
		p.rank[i] = uint32(p.cycle[k])
		p.cycle[k]++
	}
	for k, n := range p.cycle {
		if n == 0 && len(p.Order) > 0 {
			return nil, fmt.Errorf("stream %d has no slot in the order", p.Streams[k].ID)
		}
	}
	if p.Script != nil {
		if err := p.Script.check(&p); err != nil {
			return nil, err
		}
		if p.Pass > 0 && (p.Pass != uint64(len(p.Script.Loop.Moves)) || p.Script.First.In > 0) {
			return nil, fmt.Errorf("script of %d frames: a pass has %d", len(p.Script.Loop.Moves), p.Pass)
		}
		p.first, p.loop = p.tally(&p.Script.First), p.tally(&p.Script.Loop)
		p.slots = make([][]uint32, len(p.Streams))
		for i, k := range p.Order {
			p.slots[k] = append(p.slots[k], uint32(i))
		}
	}
	return &p, nil
}

// Entry returns the stream of frame i and which of that stream's frames it is:
// the sequence number its tag carries.
func (p *Plan) Entry(i uint64) (*Stream, uint64) {
	f, _ := p.Source(i)
	return p.entry(f)
}

// entry is Entry without a script.
func (p *Plan) entry(i uint64) (*Stream, uint64) {
	if len(p.Order) == 0 {
		return p.Streams[0], i
	}
	c := uint64(len(p.Order))
	slot := i % c
	k := p.Order[slot]
	return p.Streams[k], i/c*p.cycle[k] + uint64(p.rank[slot])
}

// Sent returns how many of the first n frames of the plan belong to the stream
// at index k of Streams: what a receiver may expect of it after n frames, copies
// that a script makes among them.
func (p *Plan) Sent(k int, n uint64) uint64 {
	if p.Script != nil {
		return p.left(k, n)
	}
	return p.Among(k, n)
}

// Among returns how many of the first n frames of the plan in its own order belong
// to the stream at index k.
func (p *Plan) Among(k int, n uint64) uint64 {
	if len(p.Order) == 0 {
		return n
	}
	c := uint64(len(p.Order))
	sent := n / c * p.cycle[k]
	for _, s := range p.Order[:n%c] {
		if int(s) == k {
			sent++
		}
	}
	return sent
}

// Write makes frame i in dst, which has at least MaxLen bytes, and returns its
// length. now is the send time that a tag carries, CLOCK_MONOTONIC in ns.
func (p *Plan) Write(dst []byte, i uint64, now int64) int {
	f, m := p.Source(i)
	s, j := p.entry(f)
	n := s.Write(dst, j, now)
	if m.Flip != 0 {
		m.Flip.Apply(dst[:n])
	}
	return n
}

// Mean returns the mean length of a frame as a fraction: the bytes without FCS
// of n frames. It is exact over a whole number of cycles of order and sizes (to
// 40 bits where many streams have no common cycle), and the expectation where
// sizes are random. Of a plan with a script it is that of what leaves in the loop.
func (p *Plan) Mean() (bytes, n uint64) {
	sum := new(big.Rat)
	for i, s := range p.Streams {
		total, k := s.mean()
		share := big.NewRat(1, 1)
		switch {
		case p.Script != nil && p.loop[i] == 0:
			continue
		case p.Script != nil:
			total, k = p.scripted(i)
			share.SetFrac64(int64(p.loop[i]), int64(len(p.Script.Loop.Moves)))
		case len(p.Order) > 0:
			share.SetFrac64(int64(p.cycle[i]), int64(len(p.Order)))
		}
		mean := new(big.Rat).SetFrac(new(big.Int).SetUint64(total), new(big.Int).SetUint64(k))
		sum.Add(sum, mean.Mul(mean, share))
	}
	num, den := new(big.Int).Set(sum.Num()), new(big.Int).Set(sum.Denom())
	for num.BitLen() > 48 { // many cycles without a common factor: the last bits of both
		num.Rsh(num, 1)
		den.Rsh(den, 1)
	}
	return num.Uint64(), den.Uint64()
}

// MaxLen returns the length of the longest frame, without FCS.
func (p *Plan) MaxLen() int { return p.max }
