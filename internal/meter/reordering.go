package meter

// ReorderingReport describes the frames that are Type-P-Reordered: first
// arrivals with a sequence number below one that arrived before (RFC 4737
// section 3.3).
type ReorderingReport struct {
	// Extent is the Reordering-Extent (section 4.2): e = i - j, where i is the
	// frame's place among the first arrivals and j that of the earliest one with
	// a greater sequence number. In frames, at least 1.
	Extent Summary `json:"extent"`
	// LateTime is the Late-Time offset (section 4.3): from the arrival of frame
	// j to that of frame i, in ns.
	LateTime Summary `json:"late_time_ns"`
}

type reordering struct {
	frames           uint64
	extent, lateTime tally
}

func newReordering() reordering {
	return reordering{extent: newTally(countDigits), lateTime: newTally(timeDigits)}
}

func (r *reordering) add(extent uint64, late int64) {
	r.frames++
	r.extent.add(int64(extent), 1)
	r.lateTime.add(max(late, 0), 1) // receive stamps of two queues may be out of order
}

func (r *reordering) merge(from *reordering) {
	r.frames += from.frames
	r.extent.merge(&from.extent)
	r.lateTime.merge(&from.lateTime)
}

func (r *reordering) report() ReorderingReport {
	return ReorderingReport{Extent: r.extent.summary(), LateTime: r.lateTime.summary()}
}
