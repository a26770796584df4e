package meter

import "slices"

// OccupancyReport is the Reorder Buffer-occupancy Density of RFC 5236: how
// full a buffer of Threshold frames would be that puts the stream back in order
// and, when it is full, gives up what it waits for to make room.
type OccupancyReport struct {
	Threshold int `json:"threshold"` // BT, frames
	// Frequency[b] counts arrivals that left b frames in the buffer, 0 to BT.
	Frequency []uint64 `json:"frequency"`
	// Density is Frequency over its sum.
	Density []float64 `json:"density"`
	// Discarded counts frames that came after the buffer had given them up.
	Discarded uint64 `json:"discarded"`
}

type occupancy struct {
	threshold int
	frequency []uint64
	discarded uint64
	expected  uint64 // E
	buffer    sortedSet
}

func newOccupancy(threshold int) occupancy {
	return occupancy{
		threshold: threshold,
		frequency: make([]uint64, threshold+1),
		buffer:    make(sortedSet, 0, threshold+1),
	}
}

func (o *occupancy) add(seq uint64) {
	switch {
	case seq < o.expected:
		o.discarded++
		return
	case seq == o.expected:
		o.expected++
	case len(o.buffer) < o.threshold:
		o.buffer.insert(seq)
		o.frequency[len(o.buffer)]++
		return
	default: // full: what is expected counts as lost
		o.buffer.insert(seq)
		o.expected = o.buffer[0]
	}
	// Release what is in order now.
	n := 0
	for n < len(o.buffer) && o.buffer[n] == o.expected {
		n++
		o.expected++
	}
	o.buffer = slices.Delete(o.buffer, 0, n)
	o.frequency[len(o.buffer)]++
}

func (o *occupancy) merge(from *occupancy) {
	for i, n := range from.frequency {
		o.frequency[i] += n
	}
	o.discarded += from.discarded
}

func (o *occupancy) report() *OccupancyReport {
	return &OccupancyReport{
		Threshold: o.threshold,
		Frequency: slices.Clone(o.frequency),
		Density:   normalise(o.frequency),
		Discarded: o.discarded,
	}
}
