package scenarios

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"squall/internal/impair"
	"squall/internal/meter"
	"squall/internal/plan"
	"squall/internal/port"
)

// Impaired is the account of what squall did to a phase's frames on purpose.
type Impaired struct {
	Made Made `json:"made"`
	// Expected is what the receiver must count where nothing happens on the way,
	// Seen what it counted; nil without a receiver.
	Expected *Arrivals `json:"expected,omitempty"`
	Seen     *Arrivals `json:"seen,omitempty"`
}

// Made counts impairments whose frames have left.
type Made struct {
	Dropped    uint64 `json:"dropped"`    // frames that never left
	Duplicated uint64 `json:"duplicated"` // copies that left beside their frames
	Swapped    uint64 `json:"swapped"`    // pairs
	Held       uint64 `json:"held"`       // frames held back
	Reordered  uint64 `json:"reordered"`  // frames of bursts
	Corrupted  uint64 `json:"corrupted"`  // frames with a wrong bit
}

// Arrivals are figures of a receiver, relative to the order that frames have
// without impairments.
type Arrivals struct {
	Lost       uint64  `json:"lost"` // sequence numbers that are not there
	Duplicated uint64  `json:"duplicated"`
	Reordered  uint64  `json:"reordered"` // RFC 4737
	ExtentMean float64 `json:"extent_mean"`
	ExtentMax  uint64  `json:"extent_max"` // RFC 4737 section 4.2
}

func (m *Made) count(e *plan.Event) {
	switch e.Kind {
	case plan.Drop:
		m.Dropped++
	case plan.Duplicate:
		m.Duplicated += uint64(e.Frames)
	case plan.Swap:
		m.Swapped++
	case plan.Hold:
		m.Held++
	case plan.Reorder:
		m.Reordered += uint64(e.Frames)
	case plan.Corrupt:
		m.Corrupted++
	}
}

func (m *Made) add(x Made, times uint64) {
	m.Dropped += times * x.Dropped
	m.Duplicated += times * x.Duplicated
	m.Swapped += times * x.Swapped
	m.Held += times * x.Held
	m.Reordered += times * x.Reordered
	m.Corrupted += times * x.Corrupted
}

// String lists what is not 0.
func (m Made) String() string {
	var parts []string
	for _, x := range []struct {
		n    uint64
		what string
	}{
		{m.Dropped, "dropped"}, {m.Duplicated, "copies"}, {m.Swapped, "pairs swapped"}, {m.Held, "held back"},
		{m.Reordered, "in reordered bursts"}, {m.Corrupted, "corrupted"},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// intents returns what is intended for each plan; nil for one that leaves as it is.
func (p *Phase) intents() []*intent {
	all := make([]*intent, len(p.Plans))
	for k, pl := range p.Plans {
		if all[k] = newIntent(pl); all[k] != nil && p.replayed() {
			all[k].replay, all[k].count = true, p.Count
		}
	}
	return all
}

// held refuses frames that a receiver would take for late ones.
func (p *Phase) held() error {
	for _, pl := range p.Plans {
		if pl.Script == nil {
			continue
		}
		if n, most := int(pl.Script.Reach()), window(p.Schedule); n >= most {
			return fmt.Errorf("phase %q: a frame is held back by up to %d others; the receiver remembers the last %d", p.Name, n, most)
		}
	}
	return nil
}

// impaired makes the account of phase i, whose streams are finished; nil where
// nothing was done.
func (r *run) impaired(i int, x *PhaseResult, cores []port.Sent) *Impaired {
	var made *Impaired
	var expected, seen impair.Figures
	k := 0
	for c, n := range r.intents[i] {
		streams := len(r.Phases[i].Plans[c].Streams)
		if n == nil {
			k += streams
			continue
		}
		if made == nil {
			made = &Impaired{}
		}
		made.Made.add(n.made(cores[c].Frames), 1)
		if r.pair.RX == nil {
			continue
		}
		for j := range streams {
			s := &x.Streams[k]
			e := n.expected(j, cores[c].Frames)
			m := &s.Meter
			s.Copies = min(m.Duplicated, e.Duplicated)
			expected.Add(e)
			seen.Add(impair.Figures{
				Lost: m.Lost, Duplicated: m.Duplicated, Reordered: m.Reordered,
				Extents: uint64(math.Round(m.Reordering.Extent.Mean * float64(m.Reordering.Extent.Count))), Extent: uint64(m.Reordering.Extent.Max),
			})
			k++
		}
	}
	if made != nil && r.pair.RX != nil {
		made.Expected, made.Seen = arrivals(expected), arrivals(seen)
	}
	return made
}

// unintended returns the part of a stream's loss period that was not made; false:
// there is none.
func (r *run) unintended(phase, stream int, p meter.LossPeriod) (meter.LossPeriod, bool) {
	for c, pl := range r.Phases[phase].Plans {
		if stream < len(pl.Streams) {
			if n := r.intents[phase][c]; n != nil {
				return n.loss(stream, p)
			}
			return p, true
		}
		stream -= len(pl.Streams)
	}
	return p, true
}

// periods returns the loss periods of an impaired phase that were not made, in order
// of time, and how many there were.
func (r *run) periods(i int) (all []meter.LossPeriod, count uint64) {
	for _, n := range r.intents[i] {
		if n != nil {
			n.mu.Lock()
			all, count = append(all, n.periods...), count+n.periodCount
			n.mu.Unlock()
		}
	}
	slices.SortStableFunc(all, func(a, b meter.LossPeriod) int { return cmp.Compare(a.At, b.At) })
	return all, count
}

// subtract takes what was intended off the phase's own figures.
func (x *PhaseResult) subtract(m *Impaired) {
	if m == nil || m.Expected == nil {
		return
	}
	x.Lost = 0
	for i := range x.Streams {
		s := &x.Streams[i]
		x.Lost += s.Sent - min(s.Sent, s.Meter.Received+s.Copies)
		x.Duplicated -= s.Copies
	}
	x.Reordered -= min(x.Reordered, m.Expected.Reordered)
}

func arrivals(f impair.Figures) *Arrivals {
	a := &Arrivals{Lost: f.Lost, Duplicated: f.Duplicated, Reordered: f.Reordered, ExtentMax: f.Extent}
	if f.Reordered > 0 {
		a.ExtentMean = float64(f.Extents) / float64(f.Reordered)
	}
	return a
}

// add counts another pair's impairments in.
func (m *Impaired) add(x *Impaired) *Impaired {
	if x == nil {
		return m
	}
	if m == nil {
		m = &Impaired{}
	}
	m.Made.add(x.Made, 1)
	m.Expected, m.Seen = m.Expected.add(x.Expected), m.Seen.add(x.Seen)
	return m
}

func (a *Arrivals) add(x *Arrivals) *Arrivals {
	if x == nil {
		return a
	}
	sum := *x
	if a != nil {
		sum.Lost, sum.Duplicated, sum.Reordered = sum.Lost+a.Lost, sum.Duplicated+a.Duplicated, sum.Reordered+a.Reordered
		sum.ExtentMax = max(sum.ExtentMax, a.ExtentMax)
		if sum.Reordered > 0 {
			sum.ExtentMean = (x.ExtentMean*float64(x.Reordered) + a.ExtentMean*float64(a.Reordered)) / float64(sum.Reordered)
		}
	}
	return &sum
}

// asIntended compares what the receiver counted with what it must. Where frames
// were lost on the way their copies and their places are missing too: then only the
// loss is judged.
func (p *PhaseResult) asIntended() []Check {
	m := p.Impaired
	if m == nil || m.Seen == nil || p.Lost > 0 {
		return nil
	}
	var all []Check
	for _, x := range []struct {
		what       string
		want, seen uint64
	}{
		{"lost", m.Expected.Lost, m.Seen.Lost},
		{"duplicated", m.Expected.Duplicated, m.Seen.Duplicated},
		{"reordered", m.Expected.Reordered, m.Seen.Reordered},
		{"extent_max", m.Expected.ExtentMax, m.Seen.ExtentMax},
	} {
		c := Check{Metric: fmt.Sprintf("%s.impaired.%s", p.Name, x.what), Asked: fmt.Sprintf("== %d", x.want), Seen: fmt.Sprint(x.seen), Result: Pass}
		if x.want != x.seen {
			c.Result = Fail
		}
		all = append(all, c)
	}
	return all
}

// oneByOne is how many impairments of one core are told of one by one in a second;
// more are told in one line, with the places of as many.
const oneByOne = 16

// tellImpaired tells of the impairments made while a core of phase i went from
// before to now frames.
func (r *run) tellImpaired(i, core int, before, now uint64) {
	n := r.intents[i][core]
	if n == nil || now <= before {
		return
	}
	at := time.Now().UTC()
	e := Event{Time: at, Event: EventImpairment, Phase: r.Phases[i].Name}
	made, was := n.made(now), n.made(before)
	diff := made
	diff.add(was, math.MaxUint64) // times -1
	if diff == (Made{}) {
		return
	}
	places := n.between(before, now, oneByOne+1)
	if len(places) <= oneByOne {
		for _, x := range places {
			one := e
			s, j := n.number(x)
			one.First, one.Frames = j, uint64(x.event.Frames)
			one.Text = fmt.Sprintf("%s: frame %d of stream %d", x.event.Kind, j, s)
			r.tell.event(one)
		}
		return
	}
	var first []string
	for k, x := range places[:oneByOne] {
		s, j := n.number(x)
		if k == 0 {
			e.First = j
		}
		first = append(first, fmt.Sprintf("%s %d/%d", x.event.Kind, s, j))
	}
	e.Frames = diff.Dropped + diff.Duplicated + 2*diff.Swapped + diff.Held + diff.Reordered + diff.Corrupted
	e.Text = fmt.Sprintf("%v; the first by stream/number: %s", diff, strings.Join(first, ", "))
	r.tell.event(e)
}

// occurrence is an impairment of the run.
type occurrence struct {
	event plan.Event
	frame uint64 // of the plan, in its own order
}

// number returns the stream's ID and the sequence number of its first frame.
func (n *intent) number(x occurrence) (stream uint16, j uint64) {
	k, j := n.p.Number(x.frame)
	return n.p.Streams[k].ID, j
}

// between returns the impairments, at most so many, that were made while frames
// from to to-1 left.
func (n *intent) between(from, to uint64, most int) (all []occurrence) {
	for from < to && len(all) < most {
		b, move, _, base := n.p.Script.Place(from)
		left := uint64(len(b.Moves) - move) // of the block
		end := uint32(math.MaxUint32)
		if to-from < left {
			end = uint32(move) + uint32(to-from)
		}
		for _, e := range b.Events {
			if e.At >= uint32(move) && e.At < end && len(all) < most {
				all = append(all, occurrence{e, base + uint64(e.Frame)})
			}
		}
		from += min(left, to-from)
	}
	return all
}
