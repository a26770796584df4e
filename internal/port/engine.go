package port

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"squall/internal/pace"
	"squall/internal/plan"
)

// Job is what a Sender is to do: frames First, First+1, ... of a plan, each no
// earlier than its schedule says.
type Job struct {
	Plan     *plan.Plan
	Schedule pace.Schedule
	// Start is when the schedule begins, CLOCK_MONOTONIC ns; 0: as soon as the
	// sender is ready. Senders given one time keep together.
	Start int64
	// First is the plan's number of the first frame; the schedule's frame 0.
	First uint64
	// Count is how many frames to send; 0: until the time is over.
	Count uint64
	// Duration bounds the job: no frame is due at or after it. 0: no bound.
	Duration time.Duration
	// CatchUp is how many ns of its schedule a stalled sender may make good; 0
	// means pace.DefaultCatchUp.
	CatchUp int64
	// Progress, if not nil, is kept up to date while the job runs.
	Progress *Progress
	// Stamps, if not nil, is told when each frame was handed over.
	Stamps *Stamps
}

// Progress is a sender's account while it sends: for one-second samples, read
// from any goroutine.
type Progress struct {
	Frames  atomic.Uint64 // accepted by the kernel
	Bytes   atomic.Uint64 // with FCS
	Retries atomic.Uint64 // ENOBUFS answered by sending again
	Failed  atomic.Uint64 // given up
}

// Sent is the account of a finished job.
type Sent struct {
	Frames uint64 // accepted by the kernel
	Bytes  uint64 // with FCS
	// Retries counts ENOBUFS answers: the frame was sent again. On the way it
	// may have been counted as dropped by the port.
	Retries uint64
	// Failed counts frames given up after an error that is not ENOBUFS.
	Failed uint64
	// Start and End are CLOCK_MONOTONIC ns: the first frame's due time, and
	// when the last was handed over or, if the job has a duration, its end.
	Start, End int64
	// Slipped is by how many ns the schedule was moved because the sender could
	// not keep up.
	Slipped int64
	// Error is the distribution of send time less due time. Empty where the
	// schedule asks for no times.
	Error SendError
}

// SendError is the distribution of how late frames were handed over, in ns.
type SendError struct {
	P50, P99, P999, Max int64
}

// Sender executes plans on one port.
//
// Send returns when the job is done, the context is cancelled (not an error:
// the account says how far it came), or the port fails; the account is valid
// with an error too. Frames of one job go out in the order of the plan.
type Sender interface {
	Send(context.Context, Job) (Sent, error)
	Close() error
}

// Slot is one frame to be sent: fill Data[:Len].
type Slot struct {
	Data []byte
	Len  int
}

// BatchWriter puts frames on a port, a batch at a time.
//
// Reserve returns up to n slots, at most BatchSize, whose contents are whatever
// was there before; fewer than n, but at least one, where the engine has no more
// free. They are the caller's until Submit, which hands the first n of them to
// the kernel in order and returns how many it accepted. Where that is fewer than
// n the error says why; the frame behind the accepted ones is the one that
// failed.
type BatchWriter interface {
	BatchSize() int
	Reserve(n int) []Slot
	Submit(ctx context.Context, n int) (int, error)
	// Retries counts frames that the kernel had no room for (ENOBUFS) and that
	// were handed to it again.
	Retries() uint64
	Close() error
}

// Frame is a received frame. Data lies in the engine's memory and is valid until
// the next Receive.
type Frame struct {
	Data []byte
	Len  int   // its length on the wire, without FCS; Data may have been cut
	At   int64 // arrival, CLOCK_MONOTONIC ns
}

// BatchReader takes frames off a port.
//
// Receive waits until frames have come or the time is over, and returns them in
// order of arrival: none when the time is over. The slice and what it points to
// are valid until the next call.
type BatchReader interface {
	Receive(wait time.Duration) ([]Frame, error)
	Stats() (ReadStats, error)
	Close() error
}

// ReadStats is a reader's own account since it was opened.
type ReadStats struct {
	Frames uint64 // taken, dropped ones not among them
	Drops  uint64 // that found no room in the reader's own memory
}

// Stamps remembers when the last frames were handed over, for frames that carry
// no send time. The sender writes, a meter reads.
type Stamps struct{ ring atomic.Pointer[StampRing] }

// StampRing is where stamps stand. One that a program in the kernel writes is of
// memory that is mapped for as long as the ring can be reached.
type StampRing struct {
	At []atomic.Int64 // of frame seq at seq modulo the length, a power of two
	N  *atomic.Uint64 // the newest frame's number + 1
}

// NewStamps remembers the last n frames, rounded up to a power of two.
func NewStamps(n int) *Stamps {
	size := 1
	for size < n {
		size *= 2
	}
	s := new(Stamps)
	s.Over(&StampRing{make([]atomic.Int64, size), new(atomic.Uint64)})
	return s
}

// Over takes the stamps from a ring that the sender writes by itself. It forgets
// those before.
func (s *Stamps) Over(r *StampRing) { s.ring.Store(r) }

// Set notes that frame seq is handed over at time at, which is not 0. Frames may come
// out of order; one that is passed over is not known until it comes.
func (s *Stamps) Set(seq uint64, at int64) {
	r := s.ring.Load()
	n, size := r.N.Load(), uint64(len(r.At))
	for q := max(n, seq-min(seq, size-1)); q < seq; q++ {
		r.At[q&(size-1)].Store(0)
	}
	r.At[seq&(size-1)].Store(at)
	if seq >= n {
		r.N.Store(seq + 1)
	}
}

// SentAt returns when frame seq was handed over, and false where it was not yet,
// or so long ago that it is forgotten.
func (s *Stamps) SentAt(seq uint64) (int64, bool) {
	r := s.ring.Load()
	n := r.N.Load()
	if seq >= n || n-seq > uint64(len(r.At)) {
		return 0, false
	}
	at := r.At[seq&uint64(len(r.At)-1)].Load()
	runtime.KeepAlive(r)
	return at, at != 0
}

// Rescheduler is a Sender whose schedule can be changed while it sends: frame 0
// of the new schedule is the next frame to go, due now. It may be called from any
// goroutine.
type Rescheduler interface {
	Reschedule(pace.Schedule) error
}
