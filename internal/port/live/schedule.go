package live

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"sync/atomic"

	"squall/internal/pace"
	"squall/internal/port/bpf"
)

// See bpf/live.h.
const (
	schedules = 16
	segments  = 65536
	// pending bounds the schedules handed over and not taken up. With the one in
	// use they take turns in the segments.
	pending     = 2
	perSchedule = segments / (pending + 2)

	kindMax      = 0
	kindEven     = 1
	kindCaptured = 2
)

// hand gives the program a schedule that begins at start, or when the program
// sees it where start is 0. It is the nth of the job, from 0.
func (g *program) hand(n uint32, s pace.Schedule, start, catchUp int64) error {
	slot := &g.state.Schedules[n%schedules]
	slot.Start, slot.Burst, slot.Bound = uint64(start), 1, math.MaxUint64
	slot.Segment = n % (pending + 2) * perSchedule
	switch s := s.(type) {
	case pace.Max:
		slot.Kind = kindMax
	case pace.Constant, pace.Bursts, pace.Ramp:
		slot.Kind = kindEven
		list, err := even(s, catchUp)
		if err != nil {
			return err
		}
		if b, ok := s.(pace.Bursts); ok {
			slot.Burst = max(b.N, 1)
		}
		copy(entries[bpf.LiveSegment](g.segments)[slot.Segment:], list)
	case pace.Captured:
		slot.Kind = kindCaptured
		if have := len(s.Times); have > g.dues {
			return fmt.Errorf("schedule of a capture of %d frames: the job began with room for %d", have, g.dues)
		}
		if s.Rate() > 0 {
			slot.Bound = uint64(catchUp)
		}
		slot.Dues, slot.Num = uint32(len(s.Times)), s.Num
		slot.Pass, slot.PassRest = captured(s, entries[bpf.LiveDue](g.due))
	default:
		return fmt.Errorf("schedule of type %T: the live engine does not know it", s)
	}
	atomic.StoreUint32(&g.state.Asked, n+1)
	return nil
}

// even returns a schedule as segments in which frames, or bursts, are evenly
// apart. The due times of Constant and Bursts are exact. A ramp becomes a chain
// of chords; see chords.
//
// How late a frame may be is what pace.Pacer allows, but in a ramp: there too it
// is catchUp at any rate, not what that comes to at the highest.
func even(s pace.Schedule, catchUp int64) ([]bpf.LiveSegment, error) {
	switch s := s.(type) {
	case pace.Constant:
		// A slow schedule may make good two frames whatever the time.
		seg := segment(s)
		seg.Bound = slack(catchUp, 2*(seg.Step+1))
		return []bpf.LiveSegment{seg}, nil
	case pace.Bursts:
		seg := segment(s.Of)
		seg.Bound = slack(catchUp, seg.Step)
		return []bpf.LiveSegment{seg}, nil
	case pace.Ramp:
		return chords(s, catchUp)
	}
	return nil, errors.New("not an even schedule")
}

func segment(c pace.Constant) bpf.LiveSegment {
	return bpf.LiveSegment{Step: c.Ns / c.Frames, Frac: c.Ns % c.Frames, Mod: c.Frames}
}

func slack(catchUp int64, more uint64) uint64 {
	return min(uint64(catchUp)+min(more, pace.Never), pace.Never)
}

// chords returns a ramp as a chain of segments whose first frames are due to the
// nanosecond, then the rate it ends at. Within a segment frames are off by at
// most half a microsecond; in ramps of more than some four minutes, which so many
// segments do not cover, by as much as it takes: some 15 us in an hour.
func chords(r pace.Ramp, catchUp int64) ([]bpf.LiveSegment, error) {
	end, err := pace.Every(new(big.Rat).SetFloat64(r.To))
	if err != nil {
		return nil, err
	}
	for within := int64(500); ; within *= 2 {
		list, ok := chain(r, within, catchUp)
		if !ok {
			continue
		}
		last := segment(end)
		last.Bound = slack(catchUp, 2*(last.Step+1))
		return append(list, last), nil
	}
}

// chain covers the ramp with chords that are off by some within ns at most, as far
// as one can tell at their quarters. It reports false where they are too many.
func chain(r pace.Ramp, within, catchUp int64) ([]bpf.LiveSegment, bool) {
	var list []bpf.LiveSegment
	var i, n uint64 = 0, 1
	for r.Due(i) < r.Over {
		if len(list) == perSchedule-1 {
			return nil, false
		}
		good := func(n uint64) bool {
			from, to := r.Due(i), r.Due(i+n)
			for _, k := range [...]uint64{n / 4, n / 2, n / 4 * 3} {
				off := r.Due(i+k) - from - int64(muldiv(uint64(to-from), k, n))
				if max(off, -off) > within {
					return false
				}
			}
			return to <= r.Over
		}
		for good(2 * n) {
			n *= 2
		}
		for n > 1 && !good(n) {
			n /= 2
		}
		gap := uint64(r.Due(i+n) - r.Due(i))
		list = append(list, bpf.LiveSegment{
			Points: n, Step: gap / n, Frac: gap % n, Mod: n,
			Bound: slack(catchUp, 2*(gap/n+1)),
		})
		i += n
	}
	return list, true
}

// captured writes the due times within a pass to dst and returns what each pass
// adds: see pace.Captured.Due. A time is a whole number of ns and a rest in
// units of 1/Num ns.
func captured(s pace.Captured, dst []bpf.LiveDue) (pass, rest uint64) {
	for k, t := range s.Times {
		ns, rest := stretch(s, t)
		dst[k].Ns, dst[k].Rest = ns, rest
	}
	pass, rest = stretch(s, s.Period)
	return min(pass+uint64(s.Gap), pace.Never), rest
}

func stretch(s pace.Captured, t int64) (ns, rest uint64) {
	hi, lo := bits.Mul64(uint64(t), s.Den)
	if hi >= s.Num {
		return pace.Never, 0
	}
	ns, rest = bits.Div64(hi, lo, s.Num)
	if ns >= pace.Never {
		return pace.Never, 0
	}
	return ns, rest
}

// muldiv returns a*b/c, which fits.
func muldiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	q, _ := bits.Div64(hi, lo, c)
	return q
}
