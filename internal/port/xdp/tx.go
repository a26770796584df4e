package xdp

import "golang.org/x/sys/unix"

// txRing takes frames to the kernel.
//
//	        done        next
//	          ▼           ▼
//	─ taken ─┼─ waiting ─┼─ free ─
//
// In copy mode the kernel works on it only while a send is under way, so that
// between sends what waits may still be changed.
type txRing struct {
	ring                   // producer: we; consumer: the kernel, now and then
	entries []unix.XDPDesc // we write
	next    uint32         // ours: the producer
	done    uint32         // ours: up to where we know that the kernel has taken them
}

// put adds a frame; publish shows what was put to the kernel.
func (r *txRing) put(addr uint64, n int) {
	r.entries[r.next&r.mask] = unix.XDPDesc{Addr: addr, Len: uint32(n)}
	r.next++
}

func (r *txRing) publish() { r.producer.Store(r.next) }

func (r *txRing) waiting() int { return int(r.next - r.done) }

// settle looks how far the kernel says it has come and returns how many frames
// that is since.
func (r *txRing) settle() int {
	was := r.done
	if c := r.consumer.Load(); int32(c-was) > 0 {
		r.done = c
	}
	return int(r.done - was)
}

// find returns where a frame waits, from index i on.
func (r *txRing) find(addr uint64, i uint32) (uint32, bool) {
	for ; i != r.next; i++ {
		if r.entries[i&r.mask].Addr == addr {
			return i, true
		}
	}
	return 0, false
}

// again puts the frame at index i, the last that the kernel has taken, at the
// head of those that wait. It returns how many it took before that one.
func (r *txRing) again(i uint32) int {
	taken := int(i - r.done)
	r.done = i + 1
	for k := r.next; k != i; k-- {
		r.entries[k&r.mask] = r.entries[(k-1)&r.mask]
	}
	r.next++
	r.publish()
	return taken
}

// nowhere is an address outside of any UMEM.
const nowhere = 1 << 62

// void makes what waits invalid. The kernel may have noted the producer, so it
// cannot be taken out; the kernel skips it, counts it and, from some version on,
// gives the address back.
func (r *txRing) void() {
	for i := r.done; i != r.next; i++ {
		r.entries[i&r.mask] = unix.XDPDesc{Addr: nowhere, Len: 1}
	}
}
