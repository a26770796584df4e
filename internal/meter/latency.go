package meter

// latency is the one-way delay of RFC 7679 section 3, from the send time that
// a frame carries to its arrival. Negative ones (two clocks) are counted only.
type latency struct {
	delay    tally
	negative uint64
}

func newLatency() latency { return latency{delay: newTally(timeDigits)} }

func (l *latency) add(ns int64) {
	if ns < 0 {
		l.negative++
		return
	}
	l.delay.add(ns, 1)
}

func (l *latency) merge(from *latency) {
	l.delay.merge(&from.delay)
	l.negative += from.negative
}
