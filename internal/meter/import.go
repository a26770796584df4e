package meter

import (
	"cmp"
	"iter"
	"slices"
)

// Counts is the account of a stream that was counted outside this package, by
// the rules of Stream: in an XDP program. A Sum makes a Report of it.
type Counts struct {
	// These are as in Report.
	Sent, Received, Bytes, Missing, Duplicated, Late, Wild, Beyond, Negative uint64
	// Runs is DupAckReport.Runs. Its sum is the number of reordered frames.
	Runs                      [maxRun + 1]uint64
	Extent, LateTime, Latency Distribution
	Settled                   Settled
	Losses                    *Losses // nil: no loss period was told of
}

// Settled is what is known of the numbers that have left a window.
type Settled struct {
	Lost       uint64
	Periods    uint64 // loss periods that are over
	Noticeable uint64
	Untold     uint64 // of Periods: those that Losses was not told of
}

// Distribution is a set of numbers of which classes were counted.
// The other fields are exact, and of no meaning where there are no numbers.
type Distribution struct {
	Classes      iter.Seq2[int64, uint64] // the highest number of a class and how many, without empty ones
	Min, Max     int64
	SumHigh, Sum uint64 // 128 bits
}

func (d Distribution) addTo(t *tally) {
	n := uint64(0)
	for v, frames := range d.Classes {
		_ = t.hist.RecordValues(min(v, highest), int64(frames)) // in its range
		n += frames
	}
	if n != 0 {
		t.join(&tally{count: n, min: d.Min, max: d.Max, hi: d.SumHigh, lo: d.Sum})
	}
}

// A Sum is a Report in the making: that of one stream's counts, or the sum of
// several. One goroutine owns it.
type Sum struct {
	account account
	missing uint64
	added   int
}

// NewSum returns an empty sum. Of c it uses Noticeable.
func NewSum(c Config) (*Sum, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	c.Periods = 0 // Losses has them
	return &Sum{account: newAccount(c)}, nil
}

// Add adds a stream's counts.
func (s *Sum) Add(c Counts) {
	c.addTo(&s.account)
	s.missing += c.Missing
	s.added++
}

// Report returns the sum, as Stream.Report and Total do. Density, Occupancy and
// Variation are nil: they need more of each frame than a fast counter remembers.
func (s *Sum) Report() Report {
	r := s.account.report()
	r.Missing = s.missing
	r.Density, r.Occupancy, r.Variation = nil, nil, nil
	if s.added > 1 {
		slices.SortStableFunc(r.LossPattern.Periods, func(a, b LossPeriod) int { return cmp.Compare(a.At, b.At) })
	}
	return r
}

// Checked returns c with its defaults filled in, or an error where a field is out
// of its range.
func (c Config) Checked() (Config, error) { return c.withDefaults() }

func (c *Counts) addTo(a *account) {
	a.sent += c.Sent
	a.received += c.Received
	a.bytes += c.Bytes
	a.duplicated += c.Duplicated
	a.late += c.Late
	a.wild += c.Wild
	a.beyond += c.Beyond
	a.latency.negative += c.Negative
	for run, frames := range c.Runs {
		a.acks.runs[run] += frames
		a.order.frames += frames
	}
	c.Extent.addTo(&a.order.extent)
	c.LateTime.addTo(&a.order.lateTime)
	c.Latency.addTo(&a.latency.delay)

	var l loss
	if c.Losses != nil {
		l = c.Losses.loss
	}
	l.set(c.Settled)
	a.loss.merge(&l)
}

// Losses collects the loss periods of a stream that is counted elsewhere. One
// goroutine owns it.
type Losses struct{ loss }

// NewLosses returns an empty collection. Of c it uses Stream, Periods and OnLoss.
func NewLosses(c Config) (*Losses, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Losses{newLoss(c)}, nil
}

// set takes over totals that were counted elsewhere.
func (l *loss) set(s Settled) {
	l.frames, l.count, l.notice, l.untold = s.Lost, s.Periods, s.Noticeable, s.Untold
}

// Add adds a period that is over. previous is the number lost before it; none
// says that there is no such number.
func (l *Losses) Add(p LossPeriod, previous uint64, none bool) {
	l.begin(p, previous, none)
	l.close(p.Until)
}

// begin enters the distances of a period's losses, and the period as the open one.
func (l *Losses) begin(p LossPeriod, previous uint64, none bool) {
	if !none {
		l.distance.add(int64(p.First-previous), 1)
		l.between.add(int64(p.First-previous), 1)
	}
	if p.Frames > 1 {
		l.distance.add(1, p.Frames-1)
	}
	p.Stream = l.stream
	l.open = p
}

// Rest is where the counting of a stream stood when it ended.
type Rest struct {
	Settled
	Last     uint64     // newest settled number that was lost, where Lost is not 0
	Open     LossPeriod // that is not over yet; without Until. Frames 0: none
	Previous uint64     // the number lost before Open, unless None
	None     bool
	Before   int64 // when the newest settled number that was received arrived
	// Base is the first number of the window, Next the first behind it; At says of
	// one in it whether it is here and when it arrived.
	Base, Next uint64
	At         func(seq uint64) (at int64, here bool)
}

// Finish settles the rest of a stream of which the numbers 0 to sent-1 were sent,
// as Stream.Finish does. It returns what is settled then.
func (l *Losses) Finish(r Rest, sent uint64) Settled {
	l.set(r.Settled)
	l.last = r.Last
	l.before, l.any = r.Before, r.Base > r.Lost
	if r.Open.Frames != 0 {
		l.begin(r.Open, r.Previous, r.None)
	}
	for q := r.Base; q < r.Next; q++ {
		if at, here := r.At(q); here {
			l.arrived(at)
		} else {
			l.add(q, 1)
		}
	}
	if sent > r.Next {
		l.add(r.Next, sent-r.Next)
	}
	l.finish()
	return Settled{Lost: l.frames, Periods: l.count, Noticeable: l.notice, Untold: l.untold}
}
