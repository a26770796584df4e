package meter

import "slices"

// maxThreshold bounds DT and BT, and with them the work a reordered frame costs.
const maxThreshold = 64

// DensityReport is the Reorder Density of RFC 5236: how frames are displaced
// from the place they would have without loss and reordering.
type DensityReport struct {
	Threshold int `json:"threshold"` // DT, frames
	// Frequency[DT+d] counts frames with displacement d, from -DT (early) to DT
	// (late).
	Frequency []uint64 `json:"frequency"`
	// Density is Frequency over its sum.
	Density []float64 `json:"density"`
	// Discarded counts frames that were displaced by more than DT, which RFC
	// 5236 takes for lost.
	Discarded uint64 `json:"discarded"`
}

// density is the algorithm of RFC 5236: it looks DT arrivals ahead to tell a
// lost frame from a late one, and gives the numbers that do arrive, in order,
// to the arrivals, in their order. It sees first arrivals only. One step is
// ours. The algorithm assigns a number (the receive index) to each frame of
// the window, also to one that it then discards as too late, whose number was
// given away; the early frames' numbers would stay one behind from then on, and
// a loss behind them would stall it for good. So a discarded late frame takes
// the smallest waiting number with it.
type density struct {
	threshold int
	frequency []uint64
	discarded uint64
	index     uint64    // receive index RI
	ahead     fifo      // "window": the next DT+1 arrivals
	early     sortedSet // "buffer": early arrivals whose number was not yet given away
}

func newDensity(threshold int) density {
	return density{
		threshold: threshold,
		frequency: make([]uint64, 2*threshold+1),
		early:     make(sortedSet, 0, threshold+1),
	}
}

func (d *density) add(seq uint64) {
	if d.ahead.n == d.threshold+1 {
		d.step()
	}
	if seq < d.index {
		d.discarded++
		return
	}
	d.ahead.push(seq)
}

func (d *density) finish() {
	for d.ahead.n > 0 {
		d.step()
	}
}

// step places the oldest arrival of the window.
func (d *density) step() {
	seq := d.ahead.pop()
	if seq == d.index && len(d.early) == 0 { // in order
		d.frequency[d.threshold]++
		d.index++
		return
	}
	d.seek(seq)
	switch displacement := int64(d.index - seq); {
	case displacement > int64(d.threshold):
		d.discarded++
		d.early.dropFirst()
	case displacement < -int64(d.threshold):
		d.discarded++
	default:
		d.frequency[int64(d.threshold)+displacement]++
		d.early.remove(d.index)
		if displacement < 0 {
			d.early.insert(seq)
		}
		d.index++
	}
}

// seek moves the receive index to the smallest number from it on that is in
// the window (of which first is the oldest) or waits.
func (d *density) seek(first uint64) {
	found := ^uint64(0)
	if first >= d.index {
		found = first
	}
	for i := range d.ahead.n {
		if q := d.ahead.at(i); q >= d.index {
			found = min(found, q)
		}
	}
	for _, q := range d.early { // the first from index on is the smallest
		if q >= d.index {
			found = min(found, q)
			break
		}
	}
	d.index = found
}

func (d *density) merge(from *density) {
	for i, n := range from.frequency {
		d.frequency[i] += n
	}
	d.discarded += from.discarded
}

func (d *density) report() *DensityReport {
	return &DensityReport{
		Threshold: d.threshold,
		Frequency: slices.Clone(d.frequency),
		Density:   normalise(d.frequency),
		Discarded: d.discarded,
	}
}

// normalise returns each count over the sum of all; zeros where that is 0.
func normalise(counts []uint64) []float64 {
	var sum uint64
	for _, n := range counts {
		sum += n
	}
	shares := make([]float64, len(counts))
	for i, n := range counts {
		if n != 0 {
			shares[i] = float64(n) / float64(sum)
		}
	}
	return shares
}

// fifo holds up to maxThreshold+1 sequence numbers.
type fifo struct {
	q       [2 * maxThreshold]uint64
	head, n int
}

func (f *fifo) at(i int) uint64 { return f.q[(f.head+i)%len(f.q)] }

func (f *fifo) push(seq uint64) {
	f.q[(f.head+f.n)%len(f.q)] = seq
	f.n++
}

func (f *fifo) pop() uint64 {
	seq := f.q[f.head]
	f.head = (f.head + 1) % len(f.q)
	f.n--
	return seq
}

// sortedSet holds a few sequence numbers in ascending order.
type sortedSet []uint64

func (s *sortedSet) insert(seq uint64) {
	i, _ := slices.BinarySearch(*s, seq)
	*s = slices.Insert(*s, i, seq)
}

func (s *sortedSet) remove(seq uint64) {
	if i, ok := slices.BinarySearch(*s, seq); ok {
		*s = slices.Delete(*s, i, i+1)
	}
}

func (s *sortedSet) dropFirst() {
	if len(*s) > 0 {
		*s = slices.Delete(*s, 0, 1)
	}
}
