package acks

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"squall/internal/meter"
)

// maxHoles bounds how many missing pieces of a direction are remembered, and
// recent how many of its latest segments.
const (
	maxHoles = 1024
	recent   = 64
)

// orderEnd is the order of one direction's segments.
type orderEnd struct {
	Order
	space  space
	base   int64 // first byte seen
	next   int64 // NextExp of RFC 4737 section 3.3: greatest end seen
	holes  []hole
	steady ids
	newest uint32 // greatest timestamp of those in order

	last []sent  // of the latest segments, in turn
	ring []int64 // sequence numbers of the latest first arrivals, in turn

	extents, lateTimes tally
}

// A hole is bytes that the capture has not shown yet, and the segment that
// first came behind it.
type hole struct {
	span
	index uint64 // of that segment among the first arrivals: RFC 4737's j
	at    Time
	sent
}

// sent is what tells one transmission from another.
type sent struct {
	seq   int64
	id    uint16
	hasID bool
	tsval uint32
	hasTS bool
}

// ids watches whether the IPv4 identification of a direction rises.
type ids struct {
	last         uint16
	known        bool
	rises, other uint64
}

func (d *ids) step(s *sent) {
	if !s.hasID {
		return
	}
	if d.known {
		// A counter that serves other connections too takes larger steps.
		if step := s.id - d.last; step > 0 && step < 1<<10 {
			d.rises++
		} else {
			d.other++
		}
	}
	d.last, d.known = s.id, true
}

func (d *ids) trusted() bool { return d.rises >= 4 && d.other*8 <= d.rises }

// segment counts one that takes sequence space.
func (e *orderEnd) segment(s *segment, rtt int64) {
	from := e.space.at(s.seq)
	piece := span{from, from + s.length()}
	now := sent{from, s.id, s.hasID, s.tsval, s.hasTS}
	e.Segments++
	e.Bytes += uint64(s.n)
	defer e.remember(now)
	switch {
	case e.Arrived == 0:
		e.base, e.next = from, from
		fallthrough
	case from >= e.next:
		e.inOrder(piece, s, now)
		return
	case from < e.base:
		e.Before++
		return
	}
	h := e.hole(from)
	if h < 0 {
		if e.copied(now) {
			e.Copies++
		} else {
			e.Retransmitted++
		}
		e.fill(piece)
		e.next = max(e.next, piece.to)
		return
	}
	missed := e.holes[h]
	switch e.decide(now, s.at, missed, rtt) {
	case late:
		e.reordered(from, s.at, missed)
	case again:
		e.Retransmitted++
	default:
		e.Undecided++
	}
	e.fill(piece)
	e.next = max(e.next, piece.to)
}

func (e *orderEnd) remember(s sent) {
	put(&e.last, e.Segments-1, s)
}

// put writes item number i into a ring that grows up to recent.
func put[T any](ring *[]T, i uint64, v T) {
	if len(*ring) < recent {
		*ring = append(*ring, v)
		return
	}
	(*ring)[i%recent] = v
}

// copied reports whether the same transmission came before: the network or the
// capture has it twice.
func (e *orderEnd) copied(s sent) bool {
	if !s.hasID || s.id == 0 {
		return false
	}
	return slices.Contains(e.last, s)
}

func (e *orderEnd) inOrder(piece span, s *segment, now sent) {
	if piece.from > e.next {
		e.holes = append(e.holes, hole{span{e.next, piece.from}, e.Arrived, s.at, now})
		e.bound()
	}
	e.next = piece.to
	e.steady.step(&now)
	if now.hasTS && (e.Arrived == 0 || int32(now.tsval-e.newest) > 0) {
		e.newest = now.tsval
	}
	e.arrive(piece.from)
}

func (e *orderEnd) arrive(seq int64) {
	put(&e.ring, e.Arrived, seq)
	e.Arrived++
}

// hole returns the place of the hole that seq is in, -1 where it was seen.
func (e *orderEnd) hole(seq int64) int {
	for i := len(e.holes) - 1; i >= 0; i-- {
		if h := &e.holes[i]; seq >= h.from && seq < h.to {
			return i
		}
	}
	return -1
}

// bound forgets the lowest hole where there are too many.
func (e *orderEnd) bound() {
	if len(e.holes) > maxHoles {
		e.holes = slices.Delete(e.holes, 0, 1)
		e.Forgotten++
	}
}

// fill takes a piece out of the holes, which are in ascending order.
func (e *orderEnd) fill(p span) {
	for i := 0; i < len(e.holes) && e.holes[i].from < p.to; {
		h := e.holes[i]
		left, right := h, h
		left.to, right.from = min(h.to, p.from), max(h.from, p.to)
		switch l, r := left.from < left.to, right.from < right.to; {
		case l && r:
			e.holes[i] = left
			e.holes = slices.Insert(e.holes, i+1, right)
			e.bound()
			return
		case l:
			e.holes[i] = left
			i++
		case r:
			e.holes[i] = right
			return
		default:
			e.holes = slices.Delete(e.holes, i, i+1)
		}
	}
}

// verdict on a segment that fills a hole.
type verdict uint8

const (
	unsure verdict = iota
	late           // it was sent in its turn and overtaken
	again          // it was sent again
)

// decide tells reordering from retransmission: by when it was sent compared to
// the segment that came in its stead (timestamp, then IPv4 identification), or
// by time: a sender cannot know of the loss before a round trip is over.
func (e *orderEnd) decide(now sent, at Time, h hole, rtt int64) verdict {
	if now.hasTS && h.hasTS && (now.tsval != h.tsval || e.newest != h.tsval) {
		e.ByTimestamp++
		if now.tsval == h.tsval { // the clock is coarse, but it has ticked since
			return late
		}
		return before(int64(int32(now.tsval - h.tsval)))
	}
	if now.hasID && h.hasID && now.id != h.id && e.steady.trusted() {
		e.ByID++
		return before(int64(int16(now.id - h.id)))
	}
	if rtt > 0 && at.Known && h.at.Known {
		e.ByTime++
		return before(at.NS - h.at.NS - rtt)
	}
	return unsure
}

func before(d int64) verdict {
	if d < 0 {
		return late
	}
	return again
}

// reordered counts a first arrival behind a later one (RFC 4737).
func (e *orderEnd) reordered(seq int64, at Time, h hole) {
	e.Reordered++
	e.extents.add(int64(e.Arrived-h.index), countDigits)
	if at.Known && h.at.Known {
		e.lateTimes.add(max(at.NS-h.at.NS, 0), timeDigits)
	}
	run := uint64(0)
	for run < uint64(len(e.ring)) && e.ring[(e.Arrived-1-run)%recent] > seq {
		run++
	}
	for n := range min(run, meter.MaxN) {
		e.NReordered[n]++
	}
	e.arrive(seq)
}

func (e *orderEnd) report() Order {
	o := e.Order
	if o.Arrived > 0 {
		o.Ratio = float64(o.Reordered) / float64(o.Arrived)
	}
	o.Extent, o.LateTime = e.extents.summary(), e.lateTimes.summary()
	for _, h := range e.holes {
		o.MissingBytes += uint64(h.to - h.from)
	}
	return o
}

// Significant decimal digits of the histograms, as in meter.Summary.
const (
	timeDigits  = 3
	countDigits = 2
	highest     = 1 << 48
)

// tally is a distribution; its histogram is made with the first number.
type tally struct {
	hist     *hdrhistogram.Histogram
	sum      float64
	min, max int64
}

func (t *tally) add(v int64, digits int) {
	if t.hist == nil {
		t.hist = hdrhistogram.New(1, highest, digits)
		t.min = v
	}
	_ = t.hist.RecordValue(min(v, highest)) // in range
	t.sum += float64(v)
	t.min, t.max = min(t.min, v), max(t.max, v)
}

func (t *tally) summary() meter.Summary {
	if t.hist == nil {
		return meter.Summary{}
	}
	p := func(q float64) int64 { return min(t.hist.ValueAtPercentile(q), t.max) }
	n := t.hist.TotalCount()
	return meter.Summary{Count: uint64(n), Min: t.min, Mean: t.sum / float64(n), P50: p(50), P99: p(99), P999: p(99.9), Max: t.max}
}
