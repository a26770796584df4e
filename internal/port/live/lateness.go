package live

import "squall/internal/port"

// The program counts how late frames go in buckets, 64 to each power of two, so
// that a percentile is off by at most 0.8 %.

// summary makes percentiles of the buckets. most is the largest value, exact.
func summary(buckets []uint64, most uint64) port.SendError {
	var total uint64
	for _, n := range buckets {
		total += n
	}
	if total == 0 {
		return port.SendError{}
	}
	at := func(permille uint64) int64 {
		rank := (total*permille + 999) / 1000
		var seen uint64
		for k, n := range buckets {
			if seen += n; n > 0 && seen >= rank {
				return min(middle(k), int64(most))
			}
		}
		return int64(most)
	}
	return port.SendError{P50: at(500), P99: at(990), P999: at(999), Max: int64(most)}
}

// middle returns the value in the middle of a bucket.
func middle(k int) int64 {
	e := max(k/64-1, 0)
	return int64(k-64*e)<<e + (1<<e)/2
}
