package compare

import "slices"

// Reordering is that of the pairs, by RFC 4737.
type Reordering struct {
	Frames uint64 `json:"frames"` // section 3.3: Type-P-Reordered
	// Within counts those that are reordered within one direction of their
	// conversation, too.
	Within     uint64  `json:"within_conversations"`
	Ratio      float64 `json:"ratio"`            // section 4.1: of the pairs
	MaxExtent  int     `json:"max_extent"`       // section 4.2, in frames
	MeanExtent float64 `json:"mean_extent"`      // of the reordered ones
	MaxLate    int64   `json:"max_late_time_ns"` // section 4.3, by B's clock
}

// rise is where the pairs came to a new greatest number.
type rise struct {
	place  int   // among the pairs, in B's order
	number int32 // in A
	at     int64
}

// order measures the reordering and calls visit for each reordered frame of B.
func order(b []entry, lane func(*entry) uint64, visit func(j, extent int)) (r Reordering) {
	var rises []rise
	greatest := map[uint64]int32{} // by direction of a conversation, from 1
	place, extents := 0, 0
	for j := range b {
		e := &b[j]
		if e.mate == alone {
			continue
		}
		l := lane(e)
		if e.mate+1 < greatest[l] {
			r.Within++
		} else {
			greatest[l] = e.mate + 1
		}
		if n := len(rises); n == 0 || e.mate > rises[n-1].number {
			rises = append(rises, rise{place, e.mate, e.at})
		} else {
			// The earliest that came before though its number is greater.
			i, _ := slices.BinarySearchFunc(rises, e.mate, func(x rise, number int32) int {
				if x.number > number {
					return 1
				}
				return -1
			})
			extent := place - rises[i].place
			r.Frames++
			extents += extent
			r.MaxExtent = max(r.MaxExtent, extent)
			if e.at > 0 && rises[i].at > 0 {
				r.MaxLate = max(r.MaxLate, e.at-rises[i].at)
			}
			visit(j, extent)
		}
		place++
	}
	if r.Frames > 0 {
		r.Ratio = float64(r.Frames) / float64(place)
		r.MeanExtent = float64(extents) / float64(r.Frames)
	}
	return r
}
