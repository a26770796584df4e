package xdpmeter

import (
	"iter"
	"sync/atomic"

	"squall/internal/meter"
	"squall/internal/port/bpf"
)

const (
	// fineBits and coarseBits are the significant bits of times: those of three
	// and of two decimal digits in internal/meter.
	fineBits, coarseBits = 11, 8
	// fineStreams is up to how many streams have fine classes.
	fineStreams = 64
	// countBits is COUNT_BITS of meter.bpf.c.
	countBits = 8
)

// classes is how many classes numbers below 2^48 have: see histogram.h.
func classes(bits int) int { return (48-bits)<<(bits-1) + 1<<bits }

// highest returns the largest number of a class, undoing class_of of histogram.h.
func highest(class, bits int) int64 {
	if class < 1<<bits {
		return int64(class)
	}
	shift := class>>(bits-1) - 1
	return int64(class-shift<<(bits-1)+1)<<shift - 1
}

// distribution reads one account's part of a map of classes.
func distribution(counts []uint64, account, bits int, m bpf.MeterMoments) meter.Distribution {
	n := classes(bits)
	counts = counts[account*n:][:n]
	return meter.Distribution{
		Classes: each(counts, bits),
		Min:     int64(m.Min), Max: int64(m.Max),
		Sum: m.Sum, SumHigh: m.SumHigh,
	}
}

func each(counts []uint64, bits int) iter.Seq2[int64, uint64] {
	return func(yield func(int64, uint64) bool) {
		for class := range counts {
			if n := atomic.LoadUint64(&counts[class]); n != 0 && !yield(highest(class, bits), n) {
				return
			}
		}
	}
}
