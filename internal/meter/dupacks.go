package meter

// maxRun is how far back a run of duplicate ACKs is counted.
const maxRun = 64

// MaxN is the largest n for which n-reordering is reported.
const MaxN = 16

// DupAckReport looks at reordering as a TCP receiver does. A reordered frame's
// run is the number of first arrivals between its due place, right behind the
// last arrival with a smaller sequence number, and itself. All of them came
// while this frame or an earlier one was awaited, so each made a TCP receiver
// repeat the same acknowledgement (RFC 5681 section 4.2): the run is how many
// duplicate ACKs in a row it had sent when the frame came. It is also the
// largest n for which the frame is n-reordered (RFC 4737 section 5.3).
//
//	arrivals   1  5  6  7  2  3  4        2 comes behind a run of 3,
//	ACKs       2  2  2  2  3  4  8        3 and 4 behind a run of 0
//	               dup dup dup
type DupAckReport struct {
	// Runs counts reordered frames by the length of their run; the last entry
	// holds all runs of 64 and more. Their sum is Reordered.
	Runs [maxRun + 1]uint64 `json:"runs"`
	// AtLeast3 counts runs that start a fast retransmit (RFC 5681 section 3.2).
	AtLeast3  uint64 `json:"at_least_3"`
	AtLeast10 uint64 `json:"at_least_10"`
	// NReordered[n-1] is the number of n-reordered frames (RFC 4737 section
	// 5.3), n from 1 to 16; over Received it is the degree of n-reordering.
	NReordered [MaxN]uint64 `json:"n_reordered"`
}

type dupAcks struct {
	recent [maxRun]uint64 // sequence numbers of the newest first arrivals
	runs   [maxRun + 1]uint64
}

// arrived remembers the first arrival number index.
func (d *dupAcks) arrived(seq, index uint64) { d.recent[index%maxRun] = seq }

// add counts a reordered frame, before arrived is told of it.
func (d *dupAcks) add(seq, index uint64) {
	run := uint64(0)
	for run < min(index, maxRun) && d.recent[(index-1-run)%maxRun] > seq {
		run++
	}
	d.runs[run]++
}

func (d *dupAcks) merge(from *dupAcks) {
	for i, n := range from.runs {
		d.runs[i] += n
	}
}

func (d *dupAcks) report() DupAckReport {
	r := DupAckReport{Runs: d.runs}
	for run, frames := range d.runs {
		if run >= 3 {
			r.AtLeast3 += frames
		}
		if run >= 10 {
			r.AtLeast10 += frames
		}
		for n := 1; n <= min(run, MaxN); n++ {
			r.NReordered[n-1] += frames
		}
	}
	return r
}
