package xdp

// fillRing gives the kernel frames to receive into.
type fillRing struct {
	ring             // producer: we; consumer: the kernel
	entries []uint64 // we write
	next    uint32   // ours: the producer
}

// put adds a frame; publish shows what was put to the kernel. The ring has room
// for all frames of its queue.
func (r *fillRing) put(addr uint64) {
	r.entries[r.next&r.mask] = addr
	r.next++
}

func (r *fillRing) publish() { r.producer.Store(r.next) }
