package walk

import (
	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"squall/internal/port"
)

// longest is the largest send error told apart, in ns: a minute.
const longest = 60_000_000_000

// lateness collects how late frames were handed over. The zero value collects
// nothing.
type lateness struct {
	hist *hdr.Histogram
	max  int64
}

func newLateness() lateness { return lateness{hist: hdr.New(1, longest, 3)} }

func (l *lateness) add(ns int64) {
	l.max = max(l.max, ns)
	// It fails above the range only, and this is within.
	_ = l.hist.RecordValue(min(ns, longest))
}

// summary has percentiles rounded to three digits; the maximum is exact.
func (l *lateness) summary() port.SendError {
	if l.hist == nil || l.hist.TotalCount() == 0 {
		return port.SendError{}
	}
	at := func(q float64) int64 { return min(l.hist.ValueAtQuantile(q), l.max) }
	return port.SendError{P50: at(50), P99: at(99), P999: at(99.9), Max: l.max}
}
