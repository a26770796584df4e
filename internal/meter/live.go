package meter

import "sync/atomic"

// live holds the counters that other goroutines may read. Add writes the first
// two for every frame and the others only when they change.
type live struct {
	received, bytes                      atomic.Uint64
	missing, duplicated, reordered, late atomic.Uint64
}

// Live is a stream's counters at one moment. Each figure is exact by itself;
// while a frame is being added one may be ahead of another by that frame.
type Live struct {
	Received   uint64 `json:"received"` // frames, first arrivals
	Bytes      uint64 `json:"bytes"`    // of the received, FCS included
	Missing    uint64 `json:"missing"`  // below the highest number seen and not here: lost, or still to come
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Late       uint64 `json:"late"`
}

// Live returns the counters so far. Any goroutine may call it at any time.
func (s *Stream) Live() Live {
	return Live{
		Received:   s.live.received.Load(),
		Bytes:      s.live.bytes.Load(),
		Missing:    s.live.missing.Load(),
		Duplicated: s.live.duplicated.Load(),
		Reordered:  s.live.reordered.Load(),
		Late:       s.live.late.Load(),
	}
}
