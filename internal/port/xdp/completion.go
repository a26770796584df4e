package xdp

// completionRing brings sent frames back.
type completionRing struct {
	ring             // producer: the kernel; consumer: we
	entries []uint64 // the kernel writes
	next    uint32   // ours: the consumer
}

// reap gives the frames that have come back to their pool.
func (r *completionRing) reap(p *pool) {
	end := r.producer.Load()
	if r.next == end {
		return
	}
	for ; r.next != end; r.next++ {
		if addr := r.entries[r.next&r.mask]; addr != nowhere {
			p.put(addr)
		}
	}
	r.consumer.Store(end)
}

// refused is reap after a send that ended with a frame which the port refused:
// the kernel has taken it, as the last one, and gives it back at once. It stays
// out of the pool, and refused returns where it is in the TX ring.
func (r *completionRing) refused(p *pool, tx *txRing) (last uint32, found bool) {
	end := r.producer.Load()
	from := tx.done
	for ; r.next != end; r.next++ {
		addr := r.entries[r.next&r.mask]
		i, waiting := tx.find(addr, from)
		switch {
		case addr == nowhere:
			continue
		case !waiting: // of those sent before
			p.put(addr)
			continue
		case found: // sent as well: it came before i
			p.put(tx.entries[last&tx.mask].Addr)
		}
		last, found, from = i, true, i+1
	}
	r.consumer.Store(end)
	return last, found
}
