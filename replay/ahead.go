package replay

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"squall/internal/plan"
)

const (
	// ahead is how far in front of the sender frames are fetched, in bytes (50 ms of
	// 10 Gbit/s), behind how much of what it has sent stays mapped.
	ahead, behind = 64 << 20, 4 << 20
	// stride is how much the kernel is asked for at once, look how often the place of
	// the sender is looked at.
	stride, look = 1 << 20, 2 * time.Millisecond
)

// ReadAhead has the frames of a spooled plan in memory before they are sent, so that the
// sender does not wait for the disk, and no longer than they are needed. sent is how
// many have gone; it is asked from another goroutine until stop is called. What is sent
// first is there when ReadAhead returns. For a plan in memory it does nothing.
func ReadAhead(p *plan.Plan, sent func() uint64) (stop func()) {
	w := window{p: p, table: &p.Streams[0].Heads}
	if w.data = w.table.Mapped(); w.data == nil {
		return func() {}
	}
	w.move(sent())
	quit := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.move(sent())
			case <-quit:
				return
			}
		}
	})
	return func() {
		close(quit)
		done.Wait()
	}
}

// window is what is in memory of a plan that is sent over and over. Its places are
// bytes from the beginning of the first pass.
//
//	───────┬──────────────┬─────────────────────────┬─────►
//	       left  behind   sent         ahead        have
type window struct {
	p          *plan.Plan
	table      *plan.Table
	data       []byte
	left, have uint64
}

// move has the window follow the sender, who has sent n frames.
func (w *window) move(n uint64) {
	size, frames := uint64(len(w.data)), uint64(w.table.Len())
	frame, _ := w.p.Source(n)
	sent := frame / frames * size
	if k := frame % frames; k > 0 {
		sent += w.table.End(k - 1)
	}
	w.have = max(w.have, sent)
	for end := sent + min(ahead, size); w.have < end; {
		w.have += w.advise(w.have, min(stride, end-w.have), populate)
	}
	if size <= ahead+behind {
		return // all of it is needed again at once
	}
	for w.left+behind+stride <= sent {
		w.left += w.advise(w.left, stride, unmap)
	}
}

// advise has how see the pages that hold the n bytes from place on, or as many as there
// are before the end of a pass. It returns how many bytes that were.
func (w *window) advise(place, n uint64, how func([]byte)) uint64 {
	size, page := uint64(len(w.data)), uint64(os.Getpagesize())
	from := place % size
	n = min(n, size-from)
	how(w.data[from&^(page-1) : from+n])
	return n
}

// populate has pages read and mapped (MADV_POPULATE_READ of madvise(2), Linux 5.14), or
// at least begins to have them read. An error is for whoever needs them.
func populate(pages []byte) {
	if unix.Madvise(pages, unix.MADV_POPULATE_READ) == unix.EINVAL {
		_ = unix.Madvise(pages, unix.MADV_WILLNEED)
	}
}

// unmap takes pages out of the process. They stay in the kernel's cache while it has
// room.
func unmap(pages []byte) { _ = unix.Madvise(pages, unix.MADV_DONTNEED) }
