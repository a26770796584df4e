package pace

import "sync/atomic"

// Manual has as many frames due, at once, as somebody has released. Its methods may be
// called from any goroutine. Engines that pace in the kernel do not know it.
type Manual struct{ released atomic.Uint64 }

// Release has n more frames due and returns how many there were before.
func (m *Manual) Release(n uint64) uint64 { return m.released.Add(n) - n }

// Due is 0 for a frame that was released.
func (m *Manual) Due(i uint64) int64 {
	if i < m.released.Load() {
		return 0
	}
	return Never
}

// Rate is 0: none is asked.
func (m *Manual) Rate() float64 { return 0 }
