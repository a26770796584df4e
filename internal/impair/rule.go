package impair

import (
	"fmt"
	"math/big"
	"time"

	"squall/internal/plan"
)

// Rules act one after another.
type Rules []Rule

// Rule is one kind of impairment and where it befalls frames. Parse makes it.
type Rule struct {
	Text string // as it was written
	Kind plan.Kind

	// One of these says where: the last K of every N frames (of frames held by fewer
	// than N, so that the last leaves behind the N-th), each frame by chance, or
	// places.
	K, N   uint64
	Chance uint64 // of 2^64
	Places []Range

	Copies uint64        // of Duplicate: further ones, at least 1
	By     uint64        // of Hold: frames; 0: For
	For    time.Duration // of Hold
	Burst  uint64        // of Reorder: frames, at least 2
	Order  Order         // of Reorder
	Turn   uint64        // of Rotate: how many frames go from the front to the end
	Spot   plan.Spot     // of Corrupt
}

// Range is the frames From to To, counted from 1, both among them.
type Range struct{ From, To uint64 }

// Order is what becomes of a burst.
type Order uint8

// The orders of a burst: the last frame first; the first frames last; any order,
// each as likely as the others.
const (
	Reverse Order = iota
	Rotate
	Shuffle
)

// span is how many frames in a row one impairment takes up.
func (r *Rule) span() uint64 {
	switch r.Kind {
	case plan.Swap:
		return 2
	case plan.Reorder:
		return r.Burst
	}
	return 1
}

// Timed reports whether a rule holds frames back by a time.
func (rs Rules) Timed() bool {
	for i := range rs {
		if rs[i].For > 0 {
			return true
		}
	}
	return false
}

// AtRate returns the rules with times as frames, at so many frames a second, each
// rounded to the nearest and at least one.
func (rs Rules) AtRate(pps *big.Rat) Rules {
	out := make(Rules, len(rs))
	copy(out, rs)
	for i := range out {
		if r := &out[i]; r.For > 0 {
			n := new(big.Rat).Mul(pps, big.NewRat(int64(r.For), int64(time.Second)))
			n.Add(n, big.NewRat(1, 2))
			r.By, r.For = max(new(big.Int).Quo(n.Num(), n.Denom()).Uint64(), 1), 0
		}
	}
	return out
}

// each calls f with each place of a list of n frames, from 0, where the rule does
// something, in rising order. Places do not overlap.
func (r *Rule) each(n, seed uint64, f func(p uint64)) {
	span := r.span()
	switch {
	case r.Places != nil:
		for _, q := range r.Places {
			for p := q.From; p <= q.To && p-1+span <= n; p++ {
				f(p - 1)
			}
		}
	case r.N > 0:
		first := r.N - r.K*span
		if r.Kind == plan.Hold && r.By <= first { // the last held leaves behind the last of the N
			first -= r.By
		}
		for start := uint64(0); start+r.N <= n; start += r.N {
			for k := range r.K {
				f(start + first + k*span)
			}
		}
	default:
		for p := uint64(0); p+span <= n; {
			if plan.Random(seed, p) < r.Chance {
				f(p)
				p += span
			} else {
				p++
			}
		}
	}
}

// last returns the last frame that the rule names by its number.
func (r *Rule) last() (to uint64) {
	for _, q := range r.Places {
		to = max(to, q.To+r.span()-1)
	}
	return to
}

// check reports a rule that no list can satisfy.
func (r *Rule) check() error {
	span := r.span()
	switch {
	case r.N > plan.MaxOrder:
		return fmt.Errorf("one in every %d frames: at most every %d fits", r.N, plan.MaxOrder)
	case r.N > 0 && span == 1 && r.K > r.N:
		return fmt.Errorf("%d in every %d are more than there are", r.K, r.N)
	case r.N > 0 && r.K*span > r.N:
		return fmt.Errorf("have %d of %d frames each in every %d: they do not fit", r.K, span, r.N)
	case r.Kind == plan.Drop && r.N > 0 && r.K == r.N:
		return fmt.Errorf("%d in every %d are all", r.K, r.N)
	}
	for i, q := range r.Places {
		switch {
		case q.To > plan.MaxOrder:
			return fmt.Errorf("frame %d: at most frame %d can be named", q.To, plan.MaxOrder)
		case i > 0 && q.From < r.Places[i-1].To+span, q.To > q.From && span > 1:
			return fmt.Errorf("places overlap: each takes up %d frames and they are to rise", span)
		}
	}
	return nil
}
