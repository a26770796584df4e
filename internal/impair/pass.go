package impair

import (
	"math"
	"slices"

	"squall/internal/plan"
)

// item is a frame on its way through the rules.
type item struct {
	plan.Move
	at int64  // when it is to go, where times are known
	id uint32 // stays with it
}

// event is an impairment before it is known where its frames end up.
type event struct {
	plan.Event
	last uint32 // item whose leaving completes it; none: the frame is missing
}

const none = math.MaxUint32

// list is the frames between two rules.
type list struct {
	items  []item
	ids    uint32 // given so far
	events []event
}

// newList returns the frames 0 to n-1, due at those times; nil: none are known.
func newList(n uint64, due []int64) *list {
	l := &list{items: make([]item, n), ids: uint32(n)}
	for i := range l.items {
		l.items[i] = item{Move: plan.Move{Frame: uint32(i)}, id: uint32(i)}
		if due != nil {
			l.items[i].at = due[i]
		}
	}
	return l
}

func (l *list) note(k plan.Kind, first item, frames uint64, last uint32) {
	l.events = append(l.events, event{plan.Event{Kind: k, Frame: first.Frame, Frames: uint32(frames)}, last})
}

// apply is one rule.
func (l *list) apply(r *Rule, seed uint64) {
	n := uint64(len(l.items))
	switch r.Kind {
	case plan.Drop:
		l.drop(r, n, seed)
	case plan.Duplicate:
		l.duplicate(r, n, seed)
	case plan.Swap:
		r.each(n, seed, func(p uint64) {
			pair := l.items[p : p+2]
			l.note(plan.Swap, pair[0], 2, pair[0].id)
			permute(pair, func(b []item) { b[0], b[1] = b[1], b[0] })
		})
	case plan.Hold:
		if r.For > 0 {
			l.holdFor(r, n, seed)
		} else {
			l.holdBy(r, n, seed)
		}
	case plan.Reorder:
		r.each(n, seed, func(p uint64) {
			burst := l.items[p : p+r.Burst]
			first := burst[0]
			permute(burst, func(b []item) { r.shift(b, plan.Random(seed, ^p)) })
			l.note(plan.Reorder, first, r.Burst, burst[len(burst)-1].id)
		})
	case plan.Corrupt:
		r.each(n, seed, func(p uint64) {
			if l.items[p].Flip != 0 { // an earlier rule did; twice might be not at all
				return
			}
			l.items[p].Flip = plan.NewFlip(r.Spot, plan.Random(seed, ^p))
			l.note(plan.Corrupt, l.items[p], 1, l.items[p].id)
		})
	}
}

// permute puts items in another order; the times stay where they are.
func permute(b []item, f func([]item)) {
	at := make([]int64, len(b))
	for i := range b {
		at[i] = b[i].at
	}
	f(b)
	for i := range b {
		b[i].at = at[i]
	}
}

func (r *Rule) shift(b []item, random uint64) {
	switch r.Order {
	case Reverse:
		slices.Reverse(b)
	case Rotate:
		slices.Reverse(b[:r.Turn])
		slices.Reverse(b[r.Turn:])
		slices.Reverse(b)
	case Shuffle: // Fisher and Yates
		for i := len(b) - 1; i > 0; i-- {
			j := plan.Random(random, uint64(i)) % uint64(i+1)
			b[i], b[j] = b[j], b[i]
		}
	}
}

func (l *list) drop(r *Rule, n, seed uint64) {
	kept := l.items[:0]
	from := uint64(0)
	r.each(n, seed, func(p uint64) {
		l.note(plan.Drop, l.items[p], 1, none)
		kept = append(kept, l.items[from:p]...)
		from = p + 1
	})
	l.items = append(kept, l.items[from:]...)
}

func (l *list) duplicate(r *Rule, n, seed uint64) {
	var out []item
	from := uint64(0)
	r.each(n, seed, func(p uint64) {
		out = append(out, l.items[from:p+1]...)
		from = p + 1
		c := l.items[p]
		for range r.Copies {
			c.id = l.ids
			l.ids++
			out = append(out, c)
		}
		l.note(plan.Duplicate, c, r.Copies, c.id)
	})
	l.items = append(out, l.items[from:]...)
}

// holdBy puts frames right behind the one that is By behind them, and gives them
// its time.
func (l *list) holdBy(r *Rule, n, seed uint64) {
	held := map[uint64]uint64{} // where it leaves: where it stood
	gone := make(map[uint64]bool)
	r.each(n, seed, func(p uint64) {
		if p+r.By < n {
			held[p+r.By], gone[p] = p, true
			l.note(plan.Hold, l.items[p], 1, l.items[p].id)
		}
	})
	if len(held) == 0 {
		return
	}
	out := make([]item, 0, n)
	for q := range n {
		if !gone[q] {
			out = append(out, l.items[q])
		}
		if p, ok := held[q]; ok {
			x := l.items[p]
			x.at = l.items[q].at
			out = append(out, x)
		}
	}
	l.items = out
}

// holdFor puts frames behind all that go until For later.
func (l *list) holdFor(r *Rule, n, seed uint64) {
	var held []item
	out := make([]item, 0, n)
	from := uint64(0)
	until := func(p uint64) { // hands on the items up to p
		for ; from < p; from++ {
			for len(held) > 0 && held[0].at < l.items[from].at {
				out, held = append(out, held[0]), held[1:]
			}
			out = append(out, l.items[from])
		}
	}
	r.each(n, seed, func(p uint64) {
		until(p)
		x := l.items[p]
		x.at += int64(r.For)
		l.note(plan.Hold, x, 1, x.id)
		held = append(held, x)
		from = p + 1
	})
	until(n)
	l.items = append(out, held...)
}
