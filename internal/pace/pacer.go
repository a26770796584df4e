package pace

import (
	"time"

	"golang.org/x/time/rate"
)

// DefaultCatchUp is how much of a schedule, in ns, a stalled sender may make
// good back to back unless told otherwise.
const DefaultCatchUp = 50 * int64(time.Millisecond)

// Pacer walks a schedule for one sender.
//
// A sender that was held up (by the scheduler, a full queue) finds many frames
// due at once. It may send a bounded number of them back to back; the rest of
// the schedule then slips, and the time it slipped is counted, so that a
// shortfall is seen as one.
//
// The bound is the burst of a token bucket that fills at the schedule's highest
// rate and that every frame takes a token from: no more frames are overdue than
// there are tokens. Schedules with bursts of their own, which no one rate
// describes, may be late by the time that is to be made good (and a burst by the
// time to the next), and slip by what is beyond.
type Pacer struct {
	sched Schedule
	start int64 // CLOCK_MONOTONIC ns
	slip  int64

	bucket  *rate.Limiter // of Constant and Ramp
	gap     float64       // ns in which the bucket gains a token
	catchUp int64
}

// NewPacer returns a pacer whose frame 0 is due at start (CLOCK_MONOTONIC ns).
// catchUp is how much of the schedule may be made good, in ns; 0 means
// DefaultCatchUp. A slow schedule may make good two frames whatever the time.
func NewPacer(s Schedule, start, catchUp int64) *Pacer {
	if catchUp <= 0 {
		catchUp = DefaultCatchUp
	}
	p := &Pacer{sched: s, start: start, catchUp: catchUp}
	peak := s.Rate()
	switch s := s.(type) {
	case Captured:
		return p
	case Bursts:
		p.catchUp += s.Of.Due(1)
		return p
	case Ramp:
		peak = max(s.From, s.To)
	}
	if peak > 0 {
		// The frame that is due, and one more since times are whole ns.
		burst := min(peak*float64(catchUp)/1e9+2, 1<<40)
		p.bucket, p.gap = rate.NewLimiter(rate.Limit(peak), int(burst)), 1e9/peak
	}
	return p
}

// Due returns when frame i is due, CLOCK_MONOTONIC ns.
func (p *Pacer) Due(i uint64) int64 { return p.start + p.slip + p.sched.Due(i) }

// Next returns how many of the frames from i on, at most most, may go at time
// now. Where it returns 0 the sender asks again at the time until. It counts
// what it returns as sent.
func (p *Pacer) Next(now int64, i uint64, most int) (n int, until int64) {
	due := p.Due(i)
	if now < due {
		return 0, due
	}
	if _, all := p.sched.(Max); all {
		return most, 0
	}
	t := time.Unix(0, now)
	if p.bucket == nil {
		if late := now - due; late > p.catchUp && p.sched.Rate() > 0 {
			p.slip += late - p.catchUp
		}
	} else {
		// To the nearest: a due time rounded down to a ns comes a little before
		// its token.
		have := p.bucket.TokensAt(t)
		tokens := uint64(have + 0.5)
		if over := now - p.Due(i+tokens); over >= 0 {
			// The first frame without a token is due when it gets one.
			p.slip += over + saturate((float64(tokens)+1-have)*p.gap) + 1
		}
	}
	for n < most && p.Due(i+uint64(n)) <= now {
		n++
	}
	if n == 0 {
		return 0, p.Due(i)
	}
	if p.bucket != nil {
		p.bucket.ReserveN(t, n)
	}
	return n, 0
}

// Slipped returns by how many ns the schedule has been moved because the sender
// was too far behind to catch up.
func (p *Pacer) Slipped() int64 { return p.slip }
