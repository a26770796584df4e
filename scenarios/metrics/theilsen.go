package metrics

import (
	"errors"
	"math"
	"slices"
)

// Trend is a line through samples.
type Trend struct {
	Slope float64 // a ns
	// Low and High bound the slope with 95 % confidence, by the normal approximation
	// of Kendall's statistic (Sen 1968).
	Low, High float64
	Samples   int
}

// most bounds the samples of a trend: pairs grow with their square. Of more than
// these, means of neighbours are taken.
const most = 1000

// ErrFew: fewer samples than a trend needs.
var ErrFew = errors.New("fewer than 3 samples")

// TheilSen returns the median of the slopes between all pairs of samples, which up
// to 29 % of outliers do not move.
func TheilSen(points []Point) (Trend, error) {
	points = thin(points)
	n := len(points)
	if n < 3 {
		return Trend{}, ErrFew
	}
	slopes := make([]float64, 0, n*(n-1)/2)
	for i, a := range points {
		for _, b := range points[i+1:] {
			if b.At != a.At {
				slopes = append(slopes, (b.Value-a.Value)/float64(b.At-a.At))
			}
		}
	}
	if len(slopes) == 0 {
		return Trend{}, ErrFew
	}
	slices.Sort(slopes)
	// Kendall's S has the variance n(n-1)(2n+5)/18.
	c := 1.96 * math.Sqrt(float64(n)*float64(n-1)*float64(2*n+5)/18)
	at := func(k float64) float64 {
		return slopes[min(max(int(math.Round(k)), 0), len(slopes)-1)]
	}
	half := float64(len(slopes)) / 2
	return Trend{Slope: median(slopes), Low: at(half - c/2 - 1), High: at(half + c/2), Samples: n}, nil
}

// thin takes the means of as many neighbours as leave most samples.
func thin(points []Point) []Point {
	k := (len(points) + most - 1) / most
	if k <= 1 {
		return points
	}
	var few []Point
	for part := range slices.Chunk(points, k) {
		var at, sum float64
		for _, p := range part {
			at += float64(p.At-part[0].At) / float64(len(part))
			sum += p.Value / float64(len(part))
		}
		few = append(few, Point{At: part[0].At + int64(at), Value: sum})
	}
	return few
}

// median of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[n/2] + sorted[(n-1)/2]) / 2
}
