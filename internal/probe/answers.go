package probe

import "time"

// Span is what the counters of one probe did between two of its readings, the
// nearest to the times that were asked for.
type Span struct {
	Probe    string
	From, To int64 // CLOCK_MONOTONIC in ns of the readings; equal: there were none apart
	Changes  []Change
}

// Seconds is the length of the span.
func (s Span) Seconds() float64 { return time.Duration(s.To - s.From).Seconds() }

// Between returns a span for each probe, in the order of the entries, for the
// time between two edges of a phase. At a time that [Poller.Edge] returned it
// takes the reading that was made for it, and at any other, or where that one
// did not come, the nearest, whose time it tells. Moved adds up over all readings
// in between, those that were thinned out included: any number of wraps and
// resets. Note is the last of them.
func (p *Poller) Between(from, to int64) []Span {
	var spans []Span
	for _, l := range p.polls {
		spans = append(spans, l.between(from, to))
	}
	return spans
}

func (l *poll) between(from, to int64) Span {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Span{Probe: l.Probe.Name()}
	h := &l.history
	b, a := h.nearest(from), h.nearest(to)
	if b < 0 || a < b {
		return s
	}
	s.From, s.To = h.rows[b].at, h.rows[a].at
	if a > b {
		s.Changes = h.changes(h.rows[b], h.rows[a])
	}
	return s
}

// Moved returns all that moved between two edges, of all probes, the largest
// relative change first; see [Poller.Between] and [Rank].
func (p *Poller) Moved(from, to int64) []Change {
	var all []Change
	for _, s := range p.Between(from, to) {
		all = append(all, Moves(s.Changes)...)
	}
	Rank(all)
	return all
}

// Series is one counter over time.
type Series struct {
	Probe, Where, Name string
	Level              bool
	Of                 string
	Points             []Point
}

// Point is what a counter did between two readings that follow each other.
type Point struct {
	From, To int64 // CLOCK_MONOTONIC in ns of the readings
	// Value is, for a level, where it stood at To; for a part of a whole
	// ([Counter.Of]) its share in percent; and for any other counter its rate,
	// events a second.
	Value float64
	Note  Note
}

// Series returns the counters that pick chooses, with a point for each two
// readings of which both lie from from to to: with a probe read every second,
// figures a second. New and gone counters have no point there.
func (p *Poller) Series(from, to int64, pick func(where, name string) bool) []Series {
	var out []Series
	for _, l := range p.polls {
		out = append(out, l.series(from, to, pick)...)
	}
	return out
}

func (l *poll) series(from, to int64, pick func(where, name string) bool) []Series {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &l.history
	var out []Series
	var columns []int
	wholes := map[key][]int{}
	for i, c := range h.columns {
		if c.of != "" {
			wholes[key{c.where, c.of}] = append(wholes[key{c.where, c.of}], i)
		}
		if pick(c.where, c.name) {
			columns = append(columns, i)
			out = append(out, Series{Probe: l.Probe.Name(), Where: c.where, Name: c.name, Level: c.level, Of: c.of})
		}
	}
	for i := 1; i < len(h.rows) && len(columns) > 0; i++ {
		b, a := h.rows[i-1], h.rows[i]
		if b.at < from || a.at > to {
			continue
		}
		sums := map[key]float64{}
		for k, col := range columns {
			ch, ok := h.change(col, b, a)
			if !ok || ch.Note == New || ch.Note == Gone {
				continue
			}
			n := ch.Numbers()
			point := Point{From: b.at, To: a.at, Value: n.After, Note: ch.Note}
			switch {
			case ch.Level:
			case ch.Of != "":
				whole := key{ch.Where, ch.Of}
				if _, ok := sums[whole]; !ok {
					sums[whole] = h.sum(wholes[whole], b, a)
				}
				point.Value = 0
				if sums[whole] > 0 {
					point.Value = 100 * n.Moved / sums[whole]
				}
			default:
				point.Value = n.Moved / time.Duration(a.at-b.at).Seconds()
			}
			out[k].Points = append(out[k].Points, point)
		}
	}
	return out
}

// sum is how far columns moved together between two rows.
func (h *history) sum(columns []int, from, to row) (sum float64) {
	for _, i := range columns {
		if ch, ok := h.change(i, from, to); ok {
			sum += ch.Numbers().Moved
		}
	}
	return sum
}

// Status returns how each probe has fared, in the order of the entries.
func (p *Poller) Status() []Status {
	var out []Status
	for _, l := range p.polls {
		l.mu.Lock()
		s := l.status
		l.mu.Unlock()
		s.Probe = l.Probe.Name()
		out = append(out, s)
	}
	return out
}
