package porttest

import (
	"context"
	"slices"
	"sync"

	"squall/internal/pace"
	"squall/internal/port"
)

// SlotLen is the room of a writer's slot, in bytes.
const SlotLen = 2048

// Writer is a port.BatchWriter that keeps what it is given. The zero value takes
// everything, in batches of 64.
type Writer struct {
	// Batch is the size of a batch.
	Batch int
	// Slots bounds how many slots are free at a time; 0: a batch.
	Slots int
	// Accept, if not nil, is asked about every batch: frame is the number of
	// frames accepted before it, n how many are in it. It returns what Submit
	// is to return.
	Accept func(ctx context.Context, frame uint64, n int) (int, error)
	// Discard has the writer count frames without keeping them; it then does
	// not allocate.
	Discard bool

	mu      sync.Mutex
	slots   []port.Slot
	frames  []Frame
	batches []int
	count   uint64
	retries uint64
	closed  bool
}

// Frame is a frame that a Writer accepted.
type Frame struct {
	Data []byte
	At   int64 // when Submit was called, CLOCK_MONOTONIC ns
}

var _ port.BatchWriter = (*Writer)(nil)

// BatchSize returns Batch.
func (w *Writer) BatchSize() int {
	if w.Batch == 0 {
		return 64
	}
	return w.Batch
}

// Reserve returns up to n slots.
func (w *Writer) Reserve(n int) []port.Slot {
	if w.slots == nil {
		w.slots = make([]port.Slot, w.BatchSize())
		for i := range w.slots {
			w.slots[i].Data = make([]byte, SlotLen)
		}
	}
	n = min(n, len(w.slots))
	if w.Slots > 0 {
		n = min(n, w.Slots)
	}
	return w.slots[:n]
}

// Submit keeps the first n slots, as far as Accept allows.
func (w *Writer) Submit(ctx context.Context, n int) (int, error) {
	now := pace.Now()
	var err error
	if w.Accept != nil {
		n, err = w.Accept(ctx, w.count, n)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count += uint64(n)
	if w.Discard {
		return n, err
	}
	w.batches = append(w.batches, n)
	for _, s := range w.slots[:n] {
		w.frames = append(w.frames, Frame{Data: slices.Clone(s.Data[:s.Len]), At: now})
	}
	return n, err
}

// Retry counts n frames as handed over again; for use in Accept.
func (w *Writer) Retry(n uint64) { w.retries += n }

// Retries returns what Retry was told.
func (w *Writer) Retries() uint64 { return w.retries }

// Close notes that it was called.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return nil
}

// Frames returns the accepted frames in order. It may be called while the writer
// is in use.
func (w *Writer) Frames() []Frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.frames)
}

// Batches returns how many frames of each batch were accepted.
func (w *Writer) Batches() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.batches)
}

// Count returns how many frames were accepted.
func (w *Writer) Count() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// Closed reports whether Close was called.
func (w *Writer) Closed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}
