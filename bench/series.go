package main

import (
	"fmt"
	"slices"
)

// figures are the results of several runs.
type figures []float64

func (f figures) median() float64 {
	s := slices.Sorted(slices.Values(f))
	n := len(s)
	return (s[n/2] + s[(n-1)/2]) / 2
}

// String shows the median and the spread.
func (f figures) String() string {
	return fmt.Sprintf("%.0f (%.0f to %.0f)", f.median(), slices.Min(f), slices.Max(f))
}

// inTurn runs several things n times each, A B C A B C, so that a machine whose
// speed drifts treats all alike.
func inTurn(n int, rs ...run) ([]figures, error) {
	all := make([]figures, len(rs))
	for range n {
		for k, r := range rs {
			x, err := r()
			if err != nil {
				return nil, err
			}
			all[k] = append(all[k], x)
		}
	}
	return all, nil
}
