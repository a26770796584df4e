package trials

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Difference is how setting B differs from A in a metric.
type Difference struct {
	Metric string `json:"metric"`
	A      string `json:"a"`
	B      string `json:"b"`
	// P is the probability that samples of one distribution lie as far apart as these
	// do: Mann-Whitney U, two-sided, exact for small samples without ties.
	P float64 `json:"p"`
	// Low and High bound, with 95 % confidence, by how much B's median is above A's:
	// as a share of A's (0.1 is 10 % more), or as such where Relative is false, since
	// A's is 0.
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Relative bool    `json:"relative"`
	// Clear: P is below 0.05 and the interval does not hold 0.
	Clear bool   `json:"clear"`
	Words string `json:"words"`
}

// Significance is the P below which a difference is called one.
const Significance = 0.05

// least is how many runs of each setting can show a difference at all: with three of
// each the least P is 0.1.
const least = 4

// resamples of the bootstrap.
const resamples = 5000

// Differences compares each setting with those before it, metric by metric.
func Differences(trials []Trial, settings []string, metrics []Metric) []Difference {
	var all []Difference
	for _, m := range metrics {
		for j, b := range settings {
			for _, a := range settings[:j] {
				d := Difference{Metric: m.Name, A: a, B: b, P: 1}
				d.compare(sample(trials, a, m.Name, new(Row)), sample(trials, b, m.Name, new(Row)))
				all = append(all, d)
			}
		}
	}
	return all
}

func (d *Difference) compare(a, b []float64) {
	if len(a) < least || len(b) < least {
		d.Words = fmt.Sprintf("too few runs to tell: have %d and %d, need %d of each", len(a), len(b), least)
		return
	}
	t := benchmath.DefaultThresholds
	d.P = benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(a), &t), benchmath.NewSample(slices.Clone(b), &t)).P
	d.Relative = median(a) != 0
	d.Low, d.High = bootstrap(a, b, d.Relative)
	d.Clear = d.P < Significance && (d.Low > 0 || d.High < 0)
	d.Words = d.words()
}

// bootstrap returns the 2.5th and the 97.5th percentile of the difference of the
// medians of resamples (Efron's percentile method).
func bootstrap(a, b []float64, relative bool) (low, high float64) {
	r := rand.New(rand.NewPCG(1, 2))
	again := func(from, to []float64) float64 {
		for i := range to {
			to[i] = from[r.IntN(len(from))]
		}
		return median(to)
	}
	x, y := make([]float64, len(a)), make([]float64, len(b))
	var diffs []float64
	for range resamples {
		ma, mb := again(a, x), again(b, y)
		switch {
		case !relative:
			diffs = append(diffs, mb-ma)
		case ma != 0:
			diffs = append(diffs, (mb-ma)/math.Abs(ma))
		}
	}
	slices.Sort(diffs)
	n := len(diffs)
	return diffs[n*25/1000], diffs[n-1-n*25/1000]
}

func (d *Difference) words() string {
	if !d.Clear {
		return fmt.Sprintf("no clear difference (p = %.2g)", d.P)
	}
	way, low, high := "higher", d.Low, d.High
	if high < 0 {
		way, low, high = "lower", -high, -low
	}
	unit := ""
	if d.Relative {
		unit, low, high = " %", 100*low, 100*high
	}
	return fmt.Sprintf("%s %s by %s to %s%s (p = %.2g)", d.B, way, short(low), short(high), unit, d.P)
}

// short is a number with as many digits as tell something.
func short(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
