package xdpmeter

import (
	"time"

	"squall/internal/meter"
)

// readEvery is how often loss periods are read. The program wakes nobody: that
// would cost it more than the record.
const readEvery = 10 * time.Millisecond

// none is NONE of meter.bpf.c.
const none = ^uint64(0)

// read reads loss periods until Close.
func (m *Meter) read() {
	defer close(m.done)
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-tick.C:
			m.drain(nil)
		}
	}
}

// drainMost bounds what is read while nobody else gets the lock: some 10 ms.
const drainMost = 1 << 16

// drain reads the periods that are in the ring, until there are none or enough
// says so.
func (m *Meter) drain(enough func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := 0; enough != nil || n < drainMost; n++ {
		if enough != nil && enough() {
			return
		}
		if err := m.ring.ReadInto(&m.record); err != nil {
			return // os.ErrDeadlineExceeded, or os.ErrClosed
		}
		r := record(m.record.RawSample)
		m.streams[r.Account].lose(meter.LossPeriod{
			At: int64(r.At), Until: int64(r.Until), First: r.First, Frames: r.Frames,
		}, r.Previous)
	}
}
