package meter

import "slices"

// A LossPeriod is a run of lost sequence numbers with none received among them
// (RFC 3357 section 4).
type LossPeriod struct {
	Stream uint16 `json:"stream"`
	// At and Until are when its two neighbours by sequence number arrived, the
	// last one before the gap and the first one behind it; CLOCK_MONOTONIC ns,
	// At the earlier (reordering may turn them round). A period at the beginning
	// or the end of a stream has one neighbour and At is Until; where nothing
	// arrived at all both are 0.
	At     int64  `json:"at"`
	Until  int64  `json:"until"`
	First  uint64 `json:"first"`  // sequence number
	Frames uint64 `json:"frames"` // how many, at least 1
}

// LossReport is the loss pattern of RFC 3357. Distances and lengths are in
// sequence numbers.
type LossReport struct {
	// Count is Type-P-One-Way-Loss-Period-Total (section 6.2).
	Count uint64 `json:"count"`
	// Lengths is Type-P-One-Way-Loss-Period-Lengths (section 6.3).
	Lengths Summary `json:"lengths"`
	// Between is Type-P-One-Way-Inter-Loss-Period-Lengths (section 6.4): from
	// the last frame lost of one period to the first of the next.
	Between Summary `json:"between"`
	// Distance is Type-P-One-Way-Loss-Distance (section 5): from each lost frame
	// back to the lost one before it. The first has none.
	Distance Summary `json:"distance"`
	// Noticeable counts the losses at a distance of at most Delta (section 6.1):
	// over Lost it is the noticeable rate.
	Noticeable uint64 `json:"noticeable"`
	Delta      uint64 `json:"delta"`
	// Untold counts periods that were counted elsewhere (see Counts) and whose
	// record was lost on its way here. They are in Count and Noticeable, but in
	// no distribution and not in Periods.
	Untold uint64 `json:"untold,omitempty"`
	// Periods are the first of the Count periods, in order of sequence.
	Periods []LossPeriod `json:"periods"`
}

// loss turns settled sequence numbers, in order, into loss periods.
type loss struct {
	stream  uint16
	onLoss  func(LossPeriod)
	delta   uint64
	keep    int
	frames  uint64
	count   uint64
	notice  uint64
	untold  uint64
	periods []LossPeriod

	lengths, between, distance tally

	open   LossPeriod // being lost now where Frames is not 0
	last   uint64     // the newest lost number, where frames is not 0
	before int64      // arrival time of the newest number that was received
	any    bool       // one was received
}

func newLoss(c Config) loss {
	return loss{
		stream:   c.Stream,
		onLoss:   c.OnLoss,
		delta:    c.Noticeable,
		keep:     c.Periods,
		periods:  make([]LossPeriod, 0, c.Periods),
		lengths:  newTally(countDigits),
		between:  newTally(countDigits),
		distance: newTally(countDigits),
	}
}

// add settles n numbers from first on as lost.
func (l *loss) add(first, n uint64) {
	if l.frames != 0 {
		d := first - l.last
		l.distance.add(int64(d), 1)
		if d <= l.delta {
			l.notice++
		}
		if l.open.Frames == 0 {
			l.between.add(int64(d), 1)
		}
	}
	if n > 1 {
		l.distance.add(1, n-1)
		l.notice += n - 1 // delta is at least 1
	}
	if l.open.Frames == 0 {
		l.open = LossPeriod{Stream: l.stream, At: l.before, First: first}
	}
	l.open.Frames += n
	l.frames += n
	l.last = first + n - 1
}

// arrived settles the next number as received at that time.
func (l *loss) arrived(at int64) {
	if l.open.Frames != 0 {
		if !l.any {
			l.open.At = at
		}
		l.close(at)
	}
	l.before, l.any = at, true
}

// finish settles a period that reaches to the end of the stream.
func (l *loss) finish() {
	if l.open.Frames != 0 {
		l.close(l.before)
	}
}

func (l *loss) close(until int64) {
	l.open.At, l.open.Until = min(l.open.At, until), max(l.open.At, until)
	l.count++
	l.lengths.add(int64(l.open.Frames), 1)
	if len(l.periods) < l.keep {
		l.periods = append(l.periods, l.open)
	}
	if l.onLoss != nil {
		l.onLoss(l.open)
	}
	l.open = LossPeriod{}
}

func (l *loss) merge(from *loss) {
	l.frames += from.frames
	l.count += from.count
	l.notice += from.notice
	l.untold += from.untold
	l.lengths.merge(&from.lengths)
	l.between.merge(&from.between)
	l.distance.merge(&from.distance)
	l.periods = append(l.periods, from.periods...)
}

func (l *loss) report() LossReport {
	return LossReport{
		Count:      l.count,
		Lengths:    l.lengths.summary(),
		Between:    l.between.summary(),
		Distance:   l.distance.summary(),
		Noticeable: l.notice,
		Delta:      l.delta,
		Untold:     l.untold,
		Periods:    slices.Clone(l.periods),
	}
}
