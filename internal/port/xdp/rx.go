package xdp

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// rxRing brings received frames.
type rxRing struct {
	ring                   // producer: the kernel; consumer: we
	entries []unix.XDPDesc // the kernel writes
	next    uint32         // ours: the first frame not looked at
	end     uint32         // ours: the producer as last seen
	taken   atomic.Uint64  // ours: frames given back, whose low half is the consumer
}

// look sees how many frames have come.
func (r *rxRing) look() { r.end = r.producer.Load() }

// head returns the next frame, and false where there is none.
func (r *rxRing) head() (unix.XDPDesc, bool) {
	return r.entries[r.next&r.mask], r.next != r.end
}

// release gives the entries up to next back to the kernel.
func (r *rxRing) release() {
	if n := r.next - uint32(r.taken.Load()); n > 0 {
		r.taken.Add(uint64(n))
		r.consumer.Store(r.next)
	}
}

// came returns how many frames the kernel has put into the ring. Any goroutine
// may ask: the difference is right also where frames are released meanwhile.
func (r *rxRing) came() uint64 {
	taken := r.taken.Load()
	return taken + uint64(r.producer.Load()-uint32(taken))
}
