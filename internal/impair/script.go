package impair

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"squall/internal/plan"
)

// Script is what rules make of a list of frames.
type Script struct {
	// Block is what leaves, in order, and every impairment, in order of At.
	plan.Block
	// Due are the times of the moves, rising, on the clock of the frames'; nil where
	// those had none. A copy goes at its frame's time; a frame held by frames at the
	// time of the frame it leaves behind; one held by a time so much later than its
	// own; what is swapped or reordered at the times of the places it comes to.
	Due []int64
}

// Plan returns the script as a plan has it: for a plan with passes.
func (s *Script) Plan() *plan.Script { return &plan.Script{Loop: s.Block} }

// Script applies the rules to a list of so many frames, due at those times, which
// rise. due may be nil where no rule holds a frame back by a time.
//
// It returns an error where nothing is left to send, a rule names a frame that does
// not come to it, or more than plan.MaxMoves would leave.
func (rs Rules) Script(frames, seed uint64, due []int64) (*Script, error) {
	if due == nil && rs.Timed() {
		return nil, fmt.Errorf("impairments: frames without times cannot be held back by a time; say by how many frames")
	}
	if frames > plan.MaxMoves {
		return nil, fmt.Errorf("impairments: have %d frames, at most %d can be impaired", frames, plan.MaxMoves)
	}
	l := newList(frames, due)
	if err := rs.apply(l, seed, true); err != nil {
		return nil, err
	}
	s := &Script{Block: l.block(frames)}
	if due != nil {
		s.Due = make([]int64, len(l.items))
		for i := range l.items {
			s.Due[i] = l.items[i].at
		}
	}
	return s, nil
}

// Loop applies the rules to frames that go on without end. cycle is what blocks
// have to be a whole number of: after how many frames the order of streams comes
// round.
//
// The loop is the least number of frames after which all rules begin again; where
// one goes by chance or holds frames back longer than that, as many as fit into
// plan.MaxOrder, and the draws are the same in each. Rules with places apply to
// the frames of a first block only, in which the others apply too.
//
// It returns an error where a rule has a time (see AtRate), the least loop has more
// frames than plan.MaxOrder, or chance came to nothing.
func (rs Rules) Loop(cycle, seed uint64) (*plan.Script, error) {
	if rs.Timed() {
		return nil, fmt.Errorf("impairments: without a rate a time is no number of frames; say by how many frames")
	}
	period, ok := rs.period(max(cycle, 1))
	if !ok {
		return nil, fmt.Errorf("impairments: they come round only after more than %d frames; give them numbers with a common factor", plan.MaxOrder)
	}
	n := period
	var named, reach uint64
	for i := range rs {
		r := &rs[i]
		named = max(named, r.last())
		if r.Places == nil && r.Kind == plan.Hold {
			reach += r.By
		}
		if r.Places == nil && (r.N == 0 || r.Kind == plan.Hold && r.By+r.K > r.N) {
			n = plan.MaxOrder / period * period
		}
	}
	if reach >= n {
		return nil, fmt.Errorf("impairments: frames are held back by up to %d frames, at most %d fit", reach, n-1)
	}
	s := &plan.Script{}
	if named > 0 {
		for i := range rs {
			named += rs[i].By
		}
		first := (named + period - 1) / period * period
		l := newList(first, nil)
		err := rs.apply(l, seed, true)
		for errors.Is(err, errFew) && first <= plan.MaxOrder { // rules in front have dropped some
			first *= 2
			l = newList(first, nil)
			err = rs.apply(l, seed, true)
		}
		if err != nil {
			return nil, err
		}
		s.First = l.block(first)
	}
	l := newList(n, nil)
	if err := rs.apply(l, plan.Random(seed, 0), false); err != nil {
		return nil, err
	}
	s.Loop = l.block(n)
	return s, nil
}

// period returns the least number of frames, a multiple of cycle, after which all
// rules begin again: rule by rule, how many of the frames that go in come to it is
// a fraction. False: more than plan.MaxOrder.
func (rs Rules) period(cycle uint64) (uint64, bool) {
	n := cycle
	num, den := uint64(1), uint64(1) // frames that come to the rule, of those that go in
	for i := range rs {
		r := &rs[i]
		if r.N == 0 {
			continue
		}
		need := r.N * den / gcd(r.N*den, num)
		n = n / gcd(n, need) * need
		switch r.Kind {
		case plan.Drop:
			num, den = num*(r.N-r.K), den*r.N
		case plan.Duplicate:
			num, den = num*(r.N+r.K*r.Copies), den*r.N
		}
		g := gcd(num, den)
		num, den = num/g, den/g
		if n > plan.MaxOrder || num > 1<<32 || den > plan.MaxOrder {
			return 0, false
		}
	}
	return n, true
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// errFew: too few frames come to a rule with places.
var errFew = errors.New("only")

// apply is all rules, those with places only where they are to be.
func (rs Rules) apply(l *list, seed uint64, places bool) error {
	for i := range rs {
		r := &rs[i]
		if r.Places != nil && !places {
			continue
		}
		n := uint64(len(l.items))
		if last := r.last(); last > n {
			return fmt.Errorf("impairment %q: frame %d does not come to it, %w %d do", r.Text, last, errFew, n)
		}
		draw := plan.Random(seed, uint64(i)+1)
		if r.Kind == plan.Duplicate {
			most := n
			r.each(n, draw, func(uint64) { most += r.Copies })
			if most > plan.MaxMoves {
				return fmt.Errorf("impairment %q: %d frames would leave, at most %d fit", r.Text, most, plan.MaxMoves)
			}
		}
		before := len(l.events)
		l.apply(r, draw)
		if r.Chance > 0 && !places && len(l.events) == before {
			return fmt.Errorf("impairment %q: comes to nothing in the %d frames after which draws are repeated; say it as 1/N", r.Text, n)
		}
	}
	if len(l.items) == 0 {
		return fmt.Errorf("impairments: no frame is left to send")
	}
	return nil
}

// block is what the list came to.
func (l *list) block(in uint64) plan.Block {
	b := plan.Block{In: in, Moves: make([]plan.Move, len(l.items)), Events: make([]plan.Event, len(l.events))}
	place := make([]uint32, l.ids) // of an item, plus 1
	covered := make([]uint32, len(l.items))
	seen := make([]bool, in)
	var most uint32
	for i, x := range l.items {
		x.Copy, seen[x.Frame] = seen[x.Frame], true
		b.Moves[i], place[x.id] = x.Move, uint32(i)+1
		most = max(most, x.Frame)
		covered[i] = most
	}
	for i, e := range l.events {
		switch {
		case e.last != none && place[e.last] > 0:
			e.At = place[e.last] - 1
		default: // told when a later frame has left
			at, _ := slices.BinarySearch(covered, e.Frame+1)
			e.At = uint32(at)
		}
		b.Events[i] = e.Event
	}
	slices.SortStableFunc(b.Events, func(x, y plan.Event) int { return cmp.Compare(x.At, y.At) })
	return b
}
