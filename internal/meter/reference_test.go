package meter

import (
	"math/big"
	"math/bits"
	"slices"

	"squall/internal/wire"
)

// reference computes a finished stream's report from the full history of its
// arrivals, straight from the definitions and without regard to cost. It shares
// no code with Stream but the report's types.
func reference(c Config, arrivals []Arrival, sent uint64) Report {
	var r Report
	r.Sent = sent

	// First arrivals, duplicates and late ones.
	type first struct {
		Arrival
		base uint64 // first number of the window once it had arrived
	}
	var firsts []first
	place := map[uint64]int{} // sequence number to index in firsts
	base, next := uint64(0), uint64(0)
	for _, a := range arrivals {
		if a.Seq >= c.Limit {
			r.Wild++
			continue
		}
		if a.Seq < base {
			r.Late++
			continue
		}
		if _, ok := place[a.Seq]; ok {
			r.Duplicated++
			continue
		}
		next = max(next, a.Seq+1)
		if next > uint64(c.Window) {
			base = next - uint64(c.Window)
		}
		place[a.Seq] = len(firsts)
		firsts = append(firsts, first{a, base})
		r.Received++
		r.Bytes += uint64(a.Size)
	}
	if next > sent {
		r.Beyond = next - sent
	}

	// RFC 3357: the loss distance of each number, and its loss period.
	var distances, between, lengths []int64
	r.LossPattern.Delta = c.Noticeable
	r.LossPattern.Periods = []LossPeriod{}
	lastLost := int64(-1)
	arrivedAt := func(q uint64) (int64, bool) {
		i, ok := place[q]
		if !ok {
			return 0, false
		}
		return firsts[i].At, true
	}
	end := max(next, sent)
	for q := uint64(0); q < end; q++ {
		if _, ok := place[q]; ok {
			continue
		}
		r.Lost++
		_, beforeArrived := place[q-1]
		starts := q == 0 || beforeArrived
		if lastLost >= 0 {
			d := int64(q) - lastLost
			distances = append(distances, d)
			if d <= int64(c.Noticeable) {
				r.LossPattern.Noticeable++
			}
			if starts {
				between = append(between, d)
			}
		}
		lastLost = int64(q)
		if !starts {
			continue
		}
		p := LossPeriod{Stream: c.Stream, First: q}
		for p.First+p.Frames < end {
			if _, ok := place[p.First+p.Frames]; ok {
				break
			}
			p.Frames++
		}
		var hasBefore, hasAfter bool
		p.At, hasBefore = arrivedAt(p.First - 1)
		p.Until, hasAfter = arrivedAt(p.First + p.Frames)
		if !hasBefore {
			p.At = p.Until
		}
		if !hasAfter {
			p.Until = p.At
		}
		p.At, p.Until = min(p.At, p.Until), max(p.At, p.Until)
		lengths = append(lengths, int64(p.Frames))
		r.LossPattern.Count++
		if len(r.LossPattern.Periods) < c.Periods {
			r.LossPattern.Periods = append(r.LossPattern.Periods, p)
		}
	}
	r.LossPattern.Distance = summarise(distances, 8)
	r.LossPattern.Between = summarise(between, 8)
	r.LossPattern.Lengths = summarise(lengths, 8)

	// RFC 4737 sections 3.3, 4.2 and 4.3: reordered, extent, late time.
	var extents, lateTimes []int64
	for i := range firsts {
		for j := range i {
			if firsts[j].Seq > firsts[i].Seq {
				extents = append(extents, int64(i-j))
				lateTimes = append(lateTimes, max(0, firsts[i].At-firsts[j].At))
				break
			}
		}
	}
	r.Reordered = uint64(len(extents))
	r.Reordering = ReorderingReport{Extent: summarise(extents, 8), LateTime: summarise(lateTimes, 11)}

	// RFC 4737 section 5.3: s[i] is n-reordered if for all j, i-n <= j < i, s[j] > s[i].
	nReordered := func(i, n int) bool {
		if n > i {
			return false
		}
		for j := i - n; j < i; j++ {
			if firsts[j].Seq < firsts[i].Seq {
				return false
			}
		}
		return true
	}
	for i := range firsts {
		for n := 1; n <= MaxN; n++ {
			if nReordered(i, n) {
				r.DupAcks.NReordered[n-1]++
			}
		}
		reordered := slices.ContainsFunc(firsts[:i], func(f first) bool { return f.Seq > firsts[i].Seq })
		if !reordered {
			continue
		}
		run := 0
		for nReordered(i, run+1) {
			run++
		}
		r.DupAcks.Runs[min(run, maxRun)]++
		if run >= 3 {
			r.DupAcks.AtLeast3++
		}
		if run >= 10 {
			r.DupAcks.AtLeast10++
		}
	}

	// RFC 7679 and RFC 3393.
	var delays, absolutes []int64
	r.Variation = &VariationReport{}
	delay := func(f first) int64 { return wire.Latency(f.Sent, f.At) }
	for _, f := range firsts {
		switch {
		case !f.HasSent:
		case delay(f) < 0:
			r.Negative++
		default:
			delays = append(delays, delay(f))
		}
	}
	r.Latency = summarise(delays, 11)
	for q := range next {
		i, ok := place[q]
		k, ok2 := place[q+1]
		if !ok || !ok2 || !firsts[i].HasSent || !firsts[k].HasSent || firsts[max(i, k)].base > q {
			continue
		}
		ipdv := delay(firsts[k]) - delay(firsts[i])
		if len(absolutes) == 0 {
			r.Variation.Min, r.Variation.Max = ipdv, ipdv
		}
		r.Variation.Min, r.Variation.Max = min(r.Variation.Min, ipdv), max(r.Variation.Max, ipdv)
		absolutes = append(absolutes, max(ipdv, -ipdv))
	}
	r.Variation.Absolute = summarise(absolutes, 11)

	var sequence []uint64
	for _, f := range firsts {
		sequence = append(sequence, f.Seq)
	}
	r.Density = referenceDensity(sequence, c.Threshold)
	r.Occupancy = referenceOccupancy(sequence, c.Threshold)
	return r
}

// referenceDensity is the algorithm of RFC 5236 for RD, step by step, counted
// from 0, and with the one added step that density documents.
func referenceDensity(arrivals []uint64, dt int) *DensityReport {
	r := &DensityReport{Threshold: dt, Frequency: make([]uint64, 2*dt+1), Density: make([]float64, 2*dt+1)}
	n := min(len(arrivals), dt+1)
	window, rest := slices.Clone(arrivals[:n]), arrivals[n:]
	var buffer []uint64
	ri := uint64(0)
	for len(window) > 0 {
		if !slices.Contains(window, ri) && !slices.Contains(buffer, ri) {
			if m := slices.Min(slices.Concat(window, buffer)); ri < m {
				ri = m
			} else {
				ri++
			}
			continue
		}
		s := window[0]
		window = window[1:]
		switch d := int(ri) - int(s); {
		case d > dt:
			r.Discarded++
			buffer = without(buffer, slices.Min(buffer))
		case d < -dt:
			r.Discarded++
		default:
			r.Frequency[dt+d]++
			buffer = without(buffer, ri)
			if d < 0 {
				buffer = append(buffer, s)
			}
			ri++
		}
		for len(rest) > 0 {
			s, rest = rest[0], rest[1:]
			if s >= ri {
				window = append(window, s)
				break
			}
			r.Discarded++
		}
	}
	share(r.Density, r.Frequency)
	return r
}

// referenceOccupancy is the algorithm of RFC 5236 for RBD, step by step.
func referenceOccupancy(arrivals []uint64, bt int) *OccupancyReport {
	r := &OccupancyReport{Threshold: bt, Frequency: make([]uint64, bt+1), Density: make([]float64, bt+1)}
	e, b := uint64(0), 0
	buffered := map[uint64]bool{}
	for _, s := range arrivals {
		switch {
		case s < e:
			r.Discarded++
			continue
		case s == e:
			e++
			for buffered[e] {
				b--
				delete(buffered, e)
				e++
			}
		case b < bt:
			buffered[s] = true
			b++
		default:
			e++
			for !buffered[e] && e != s {
				e++
			}
			released := false
			for buffered[e] || e == s {
				if e != s {
					b--
				} else {
					released = true
				}
				delete(buffered, e)
				e++
			}
			if !released { // a frame was freed, s takes its place
				buffered[s] = true
				b++
			}
		}
		r.Frequency[b]++
	}
	share(r.Density, r.Frequency)
	return r
}

func share(density []float64, frequency []uint64) {
	sum := uint64(0)
	for _, n := range frequency {
		sum += n
	}
	for i, n := range frequency {
		if sum > 0 {
			density[i] = float64(n) / float64(sum)
		}
	}
}

func without(set []uint64, v uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(set), func(q uint64) bool { return q == v })
}

// summarise sorts and picks. A histogram with the given number of bits keeps
// that many leading bits of a value and reports the highest such value.
func summarise(values []int64, keep int) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	slices.Sort(values)
	sum := new(big.Int)
	for _, v := range values {
		sum.Add(sum, big.NewInt(v))
	}
	mean, _ := new(big.Rat).SetFrac(sum, big.NewInt(int64(len(values)))).Float64()
	largest := values[len(values)-1]
	at := func(percent float64) int64 {
		rank := int(percent/100*float64(len(values)) + 0.5)
		v := values[min(max(rank, 1), len(values))-1]
		drop := max(bits.Len64(uint64(v))-keep, 0)
		return min((v>>drop+1)<<drop-1, largest)
	}
	return Summary{
		Count: uint64(len(values)), Min: values[0], Mean: mean,
		P50: at(50), P99: at(99), P999: at(99.9), Max: largest,
	}
}
