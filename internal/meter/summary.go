package meter

import (
	"math/bits"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Summary describes a set of numbers. Count, Min, Mean and Max are exact. The
// percentiles are upper ends of histogram classes: at most 0.1 % too high for
// times and 1 % for counts (exact below 2,048 and 256). All are 0 where Count is.
type Summary struct {
	Count uint64  `json:"count"`
	Min   int64   `json:"min"`
	Mean  float64 `json:"mean"`
	P50   int64   `json:"p50"`
	P99   int64   `json:"p99"`
	P999  int64   `json:"p999"`
	Max   int64   `json:"max"`
}

// highest is the largest number a histogram tells apart: 78 hours in ns, and
// any sequence number.
const highest = 1 << 48

// Significant decimal digits of a histogram, which set its size: about 300 KiB
// for times, 40 KiB for counts.
const (
	timeDigits  = 3
	countDigits = 2
)

// A tally is a distribution of numbers from 0 on.
type tally struct {
	hist     *hdrhistogram.Histogram
	count    uint64
	min, max int64
	hi, lo   uint64 // sum, 128 bits: weeks of latencies overflow 64
}

func newTally(digits int) tally {
	return tally{hist: hdrhistogram.New(1, highest, digits)}
}

// add counts v, at least 0, n times.
func (t *tally) add(v int64, n uint64) {
	// Neither argument can be out of the histogram's range.
	_ = t.hist.RecordValues(min(v, highest), int64(n))
	if t.count == 0 {
		t.min = v
	}
	t.count += n
	t.min, t.max = min(t.min, v), max(t.max, v)
	hi, lo := bits.Mul64(uint64(v), n)
	var carry uint64
	t.lo, carry = bits.Add64(t.lo, lo, 0)
	t.hi, _ = bits.Add64(t.hi, hi, carry)
}

func (t *tally) merge(from *tally) {
	if from.count == 0 {
		return
	}
	t.hist.Merge(from.hist)
	t.join(from)
}

// join adds all but the classes of from, which has numbers.
func (t *tally) join(from *tally) {
	if t.count == 0 {
		t.min = from.min
	}
	t.count += from.count
	t.min, t.max = min(t.min, from.min), max(t.max, from.max)
	var carry uint64
	t.lo, carry = bits.Add64(t.lo, from.lo, 0)
	t.hi, _ = bits.Add64(t.hi, from.hi, carry)
}

func (t *tally) summary() Summary {
	if t.count == 0 {
		return Summary{}
	}
	p := func(percent float64) int64 { return min(t.hist.ValueAtPercentile(percent), t.max) }
	return Summary{
		Count: t.count,
		Min:   t.min,
		Mean:  (float64(t.hi)*(1<<64) + float64(t.lo)) / float64(t.count),
		P50:   p(50),
		P99:   p(99),
		P999:  p(99.9),
		Max:   t.max,
	}
}
