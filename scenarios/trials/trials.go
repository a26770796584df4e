package trials

import (
	"math/rand/v2"
	"slices"
)

// Trial is one run of the phases under one setting.
type Trial struct {
	Setting string             `json:"setting"`
	Void    bool               `json:"void"`
	Values  map[string]float64 `json:"values"`
}

// Order returns which of n settings each of repeat*n trials has: in turn, or shuffled
// within blocks that have each setting once, so that a drift of the machine or of the
// DUT meets all alike.
func Order(n, repeat int, shuffle bool, seed uint64) []int {
	r := rand.New(rand.NewPCG(seed, 0))
	var order []int
	for range repeat {
		block := make([]int, n)
		for i := range block {
			block[i] = i
		}
		if shuffle {
			r.Shuffle(n, func(i, j int) { block[i], block[j] = block[j], block[i] })
		}
		order = append(order, block...)
	}
	return order
}

// Metric is a figure that settings are compared by.
type Metric struct {
	Name  string
	Above *float64 // runs above it are counted
}

// Row is what one setting's trials came to in one metric.
type Row struct {
	Metric  string `json:"metric"`
	Setting string `json:"setting"`
	Runs    int    `json:"runs"` // that have the figure and are not void
	Void    int    `json:"void"`
	// Missing trials are not void, but have no such figure.
	Missing int     `json:"missing"`
	Mean    float64 `json:"mean"`
	Median  float64 `json:"median"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	// Above is how many runs were above Threshold, where one was given.
	Above     int      `json:"above"`
	Threshold *float64 `json:"threshold,omitempty"`
}

// Table returns a row for each metric and setting.
func Table(trials []Trial, settings []string, metrics []Metric) []Row {
	var rows []Row
	for _, m := range metrics {
		for _, s := range settings {
			row := Row{Metric: m.Name, Setting: s, Threshold: m.Above}
			values := sample(trials, s, m.Name, &row)
			if row.Runs = len(values); row.Runs > 0 {
				row.Min, row.Max = slices.Min(values), slices.Max(values)
				row.Mean, row.Median = mean(values), median(values)
			}
			for _, v := range values {
				if m.Above != nil && v > *m.Above {
					row.Above++
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// sample returns a metric's values under a setting, and counts the trials without.
func sample(trials []Trial, setting, metric string, row *Row) (values []float64) {
	for _, t := range trials {
		if t.Setting != setting {
			continue
		}
		v, ok := t.Values[metric]
		switch {
		case t.Void:
			row.Void++
		case !ok:
			row.Missing++
		default:
			values = append(values, v)
		}
	}
	return values
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[n/2] + s[(n-1)/2]) / 2
}
