package walk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/wire"
)

// Walk sends the job's frames through w, from the job's start on, and returns when the count
// is sent, the time is over, ctx is cancelled (not an error) or w gives an
// error. The account is right in every case.
//
// A job with a duration lasts that long, also where its last frame is due
// earlier. It ends after the last frame due before the end, or when the sender
// is later than CatchUp then; where the schedule names no rate, at the end
// itself.
//
// An error of w ends the job and leaves the frame it names in Failed: a port
// whose link is down or whose interface is gone matches [port.ErrLink] or
// [port.ErrGone].
func Walk(ctx context.Context, w port.BatchWriter, job port.Job) (port.Sent, error) {
	defer ownThread()()
	k := newWalker(ctx, w, job)
	defer k.cancel()
	err := job.Plan.Guard(k.run)
	return k.account(), err
}

type walker struct {
	ctx    context.Context
	cancel context.CancelFunc
	stop   <-chan struct{}

	w     port.BatchWriter
	job   port.Job
	pacer *pace.Pacer
	timed bool   // the schedule gives each frame a time
	left  uint64 // frames still to send
	i     uint64 // of the schedule: frames sent
	end   int64  // no frame is due at or after it
	last  int64  // nor sent at or after it

	lens   []int // of the batch under way
	sent   port.Sent
	before uint64 // retries when the job began
	errors lateness
}

func newWalker(ctx context.Context, w port.BatchWriter, job port.Job) *walker {
	k := &walker{
		w: w, job: job,
		left:   math.MaxUint64,
		end:    math.MaxInt64,
		last:   math.MaxInt64,
		lens:   make([]int, w.BatchSize()),
		before: w.Retries(),
	}
	if job.Count > 0 {
		k.left = job.Count
	}
	switch job.Schedule.(type) {
	case pace.Max, *pace.Manual:
	default:
		k.timed = true
		k.errors = newLateness()
	}
	if k.job.CatchUp <= 0 {
		k.job.CatchUp = pace.DefaultCatchUp
	}

	start := job.Start
	if start == 0 {
		start = pace.Now()
	}
	k.sent.Start, k.sent.End = start, start
	k.pacer = pace.NewPacer(job.Schedule, start, k.job.CatchUp)
	k.cancel = func() {}
	if job.Duration > 0 {
		k.end = start + int64(job.Duration)
		k.last = k.end
		if job.Schedule.Rate() > 0 {
			k.last += k.job.CatchUp
		}
		// For a writer that waits for room while the time runs out.
		ctx, k.cancel = context.WithDeadline(ctx, time.Now().Add(time.Duration(k.last-pace.Now())))
	}
	k.ctx, k.stop = ctx, ctx.Done()
	return k
}

// run sends until something ends the job.
func (k *walker) run() error {
	var slots []port.Slot
	for k.left > 0 {
		if k.stopped() {
			return nil
		}
		if slots == nil {
			slots = k.w.Reserve(int(min(k.left, uint64(len(k.lens)))))
			if err := fits(k.job.Plan, slots); err != nil {
				return err
			}
		}
		now := pace.Now()
		if now >= k.last || k.pacer.Due(k.i) >= k.end {
			break
		}
		n, until := k.pacer.Next(now, k.i, len(slots))
		if n == 0 {
			pace.Wait(min(until, k.end))
			continue
		}
		for n > 1 && k.pacer.Due(k.i+uint64(n)-1) >= k.end {
			n--
		}
		k.fill(slots[:n])
		if err := k.submit(n); err != nil {
			return err
		}
		slots = nil
	}
	if k.left > 0 {
		k.rest()
	}
	return nil
}

func (k *walker) stopped() bool {
	select {
	case <-k.stop:
		k.ended()
		return true
	default:
		return false
	}
}

// fill makes the next frames, each with a time stamp of its own.
func (k *walker) fill(slots []port.Slot) {
	seq := k.job.First + k.i
	for n := range slots {
		now := pace.Now()
		if k.job.Stamps != nil {
			if f, m := k.job.Plan.Source(seq); !m.Copy {
				k.job.Stamps.Set(f, now)
			}
		}
		slots[n].Len = k.job.Plan.Write(slots[n].Data, seq, now)
		k.lens[n] = slots[n].Len
		seq++
	}
}

// submit hands n frames over and enters them into the account.
func (k *walker) submit(n int) error {
	retries := k.w.Retries()
	at := pace.Now()
	accepted, err := k.w.Submit(k.ctx, n)
	retried := k.w.Retries() - retries
	if retried > 0 {
		// They did not go when they were handed over first.
		at = pace.Now()
	}

	var bytes uint64
	for _, len := range k.lens[:accepted] {
		bytes += uint64(max(len, wire.MinLen) + wire.FCSLen)
	}
	if k.timed {
		for j := range accepted {
			k.errors.add(at - k.pacer.Due(k.i+uint64(j)))
		}
	}
	k.i += uint64(accepted)
	k.left -= uint64(accepted)
	k.sent.Frames += uint64(accepted)
	k.sent.Bytes += bytes
	if accepted > 0 {
		k.sent.End = at
	}

	var failed uint64
	switch {
	case err != nil && k.ctx.Err() != nil && errors.Is(err, k.ctx.Err()):
		err = nil // the next look at the context ends the job
	case err != nil:
		failed = 1
		err = fmt.Errorf("sending frame %d: %w", k.job.First+k.i, err)
	case accepted < n:
		failed = 1
		err = fmt.Errorf("sending frame %d: engine took %d of %d frames and gave no reason", k.job.First+k.i, accepted, n)
	}
	k.sent.Failed += failed
	if p := k.job.Progress; p != nil {
		p.Frames.Add(uint64(accepted))
		p.Bytes.Add(bytes)
		p.Retries.Add(retried)
		p.Failed.Add(failed)
	}
	return err
}

// rest waits for the end of a job that is bounded by time.
func (k *walker) rest() {
	for pace.Now() < k.end && !k.stopped() {
		pace.Wait(k.end)
	}
	k.ended()
}

// ended notes when a job ends that does not end with its last frame.
func (k *walker) ended() {
	k.sent.End = max(k.sent.End, min(k.end, pace.Now()))
}

func (k *walker) account() port.Sent {
	k.sent.Retries = k.w.Retries() - k.before
	k.sent.Slipped = k.pacer.Slipped()
	k.sent.Error = k.errors.summary()
	return k.sent
}

// fits reports a plan whose frames are longer than what the writer takes.
func fits(p *plan.Plan, slots []port.Slot) error {
	if len(slots) == 0 {
		return errors.New("engine without a free slot")
	}
	if have, need := len(slots[0].Data), p.MaxLen(); have < need {
		return fmt.Errorf("frame size %d is above what the port takes: at most %d", need+wire.FCSLen, have+wire.FCSLen)
	}
	return nil
}
