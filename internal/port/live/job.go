package live

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/port/bpf"
	"squall/internal/wire"
)

const (
	defaultBatch = 64
	maxBatch     = 256 // TEST_XDP_MAX_BATCH of net/bpf/test_run.c

	// mostRuns is how often the program runs in one call where frames are dense:
	// some 10 s, since each call in between costs half a millisecond. The minder
	// ends it where something is to be looked at.
	mostRuns = 1 << 27
	// nap is the longest sleep, in ns: a change of the schedule is then looked
	// for.
	nap = 5_000_000
	// dense is the mean gap in ns, of the next few frames, below which the
	// program waits for them itself.
	dense  = 250_000
	window = 16
	// lead is how long before a rare frame is due, in ns, the sleep ends. It
	// covers a late waking (up to 80 us) and what a call takes until the program
	// runs (15 to 95 us); the program waits for the rest. A run of it that waits
	// takes poll ns at least.
	lead = 200_000
	poll = 60
	// few bounds the rare frames that are due together and go in one call.
	few = 64
)

// batches says, by the mean gap in ns of the next few frames, how many of them go
// to the driver together. One by one costs a softirq a frame, and some machines
// cannot do a million of those a second; a batch holds a frame back for as many
// turns of the program, 60 ns or so each.
var batches = [...]struct {
	gap    int64
	frames uint32
}{{600, 16}, {900, 4}, {1500, 2}}

// clumped is the batch of captured frames less than dense apart on average. They come
// in clumps, which are sent twice as fast together as one by one, and a batch holds
// single ones back for a microsecond at most.
const clumped = 16

// job is a port.Job under way: what the goroutine that sends does. What others
// may do meanwhile, a Sender guards (halt, reschedule), or goes by way of the
// memory that is shared with the program.
type job struct {
	port.Job
	ctx     context.Context
	s       *Sender
	program *program
	state   *bpf.LiveState

	schedules  [schedules]atomic.Pointer[pace.Schedule] // as handed over
	start, end int64
	ended      int64 // when the job ended, if it was not with its last frame
}

func newJob(ctx context.Context, s *Sender, j port.Job) *job {
	if j.CatchUp <= 0 {
		j.CatchUp = pace.DefaultCatchUp
	}
	return &job{Job: j, ctx: ctx, s: s, program: s.program, state: s.program.state, end: math.MaxInt64}
}

// begin sets the program to the job's first frame.
func (k *job) begin() error {
	g, st := k.program, k.state
	g.seek(k.First)
	if err := k.s.watch.check(); err != nil {
		return err
	}
	// The first call takes three times as long as the others.
	st.Stop = 1
	if err := g.run(1, 1); err != nil {
		return err
	}
	st.Stop = 0
	st.Count = math.MaxUint64
	if k.Count > 0 {
		st.Count = k.Count
	}
	if k.start = k.Start; k.start == 0 {
		k.start = pace.Now()
	}
	st.End, st.Last = math.MaxInt64, math.MaxInt64
	if k.Duration > 0 {
		k.end = k.start + int64(k.Duration)
		st.End, st.Last = uint64(k.end), uint64(k.end)
		if k.Schedule.Rate() > 0 {
			st.Last += uint64(k.CatchUp)
		}
	}
	return k.hand(0, k.Schedule, k.start)
}

func (k *job) hand(n uint32, s pace.Schedule, start int64) error {
	k.schedules[n%schedules].Store(&s)
	return k.program.hand(n, s, start, k.CatchUp)
}

// reschedule hands a new schedule over. It reports false where too many are still
// to be taken up.
func (k *job) reschedule(s pace.Schedule) (bool, error) {
	n := atomic.LoadUint32(&k.state.Asked)
	if n-k.taken() >= pending {
		return false, nil
	}
	return true, k.hand(n, s, 0)
}

// taken returns how many schedules the program has taken up.
func (k *job) taken() uint32 { return uint32(atomic.LoadUint64(&k.state.Taken) >> 32) }

func (k *job) halt()         { atomic.StoreUint32(&k.state.Stop, 1) }
func (k *job) stopped() bool { return atomic.LoadUint32(&k.state.Stop) != 0 }

// run has the program send until something ends the job.
func (k *job) run() error {
	st := k.state
	m := mind(k)
	err := k.send(m)
	// A job that is over with its last frame is not waited for.
	if err == nil && st.Frames < st.Count {
		for k.Duration > 0 && k.ctx.Err() == nil && m.err() == nil && pace.Now() < k.end {
			pace.Wait(min(k.end, pace.Now()+nap))
		}
		k.ended = min(k.end, pace.Now())
	}
	m.end()
	if err == nil {
		err = m.err()
	}
	if err == nil && st.Fault != 0 {
		err = fmt.Errorf("the program gave up at line %d of live.bpf.c", st.Fault)
	}
	if err != nil {
		return fmt.Errorf("sending frame %d: %w", k.First+st.Frames, err)
	}
	return nil
}

func (k *job) send(m *minder) error {
	for !k.stopped() && k.ctx.Err() == nil {
		repeat, batch := k.next()
		if repeat == 0 {
			continue
		}
		// After a pause the time has to be read anew.
		k.state.Fresh = 0
		if err := m.run(k.program, repeat, batch); err != nil {
			return err
		}
	}
	return nil
}

// next says how often the program is to run next, and how many of these runs make
// a batch; 0 after a wait.
func (k *job) next() (repeat, batch uint32) {
	st := k.state
	now := pace.Now()
	asked := atomic.LoadUint32(&st.Asked)
	s := *k.schedules[(asked-1)%schedules].Load()
	// As the program finds them once it has taken the schedule up.
	number, begun, due := uint64(0), now, now
	if asked == k.taken() {
		number, begun, due = st.Number, int64(st.Begun), int64(min(st.Due, st.End))
	}
	if _, max := s.(pace.Max); max {
		return uint32(min(st.Count-st.Frames, mostRuns)), uint32(k.s.cfg.Batch)
	}
	if due > now+lead {
		sleep(min(due-lead, now+nap))
		return 0, 0
	}
	ahead := s.Due(number+window) - s.Due(number)
	if ahead >= window*dense {
		n := uint64(1)
		for n < few && begun+s.Due(number+n) <= max(due, now) {
			n++
		}
		return uint32(n) + uint32(max(due-now, 0)/poll) + 100, 1
	}
	if _, c := s.(pace.Captured); c {
		return mostRuns, clumped
	}
	for _, b := range batches {
		if ahead < window*b.gap {
			return mostRuns, b.frames
		}
	}
	return mostRuns, 1
}

// bytes returns the bytes that went, with FCS. Where all frames have one size the
// program does not count them.
func (k *job) bytes() uint64 {
	if t := k.program.tables; t.program() == bpf.LiveProgLivePlain {
		return atomic.LoadUint64(&k.state.Frames) * uint64(max(int(t.streams[0].Len), wire.MinLen)+wire.FCSLen)
	}
	return atomic.LoadUint64(&k.state.Bytes)
}

func (k *job) account() port.Sent {
	st := k.state
	sent := port.Sent{
		Frames: st.Frames, Bytes: k.bytes(),
		Start: k.start, End: k.start,
		Slipped: int64(st.Slip),
		Error:   summary(st.Lateness[:], st.Late),
	}
	if st.Frames > 0 {
		sent.End = int64(st.Now)
	}
	sent.End = max(sent.End, k.ended)
	return sent
}
