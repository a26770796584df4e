package replay

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"squall/internal/pace"
	"squall/internal/plan"
)

// Timing says when the frames of a replay go. The zero value is the capture's
// own timing. At most one of Speed, Rate and TopSpeed is given.
type Timing struct {
	// Speed stretches the capture's own timing: "0.5" takes twice as long. ""
	// is 1. See ParseSpeed.
	Speed string
	// Rate, if not the zero value, sends evenly; "max" is TopSpeed.
	Rate pace.Rate
	// TopSpeed sends as fast as the engine can.
	TopSpeed bool
	// LoopGap is added between two passes, unstretched; not with a rate or top
	// speed, whose passes follow each other evenly.
	LoopGap time.Duration
	// Link is the speed of the port's link in bits a second, for rates in
	// percent. 0: not known.
	Link uint64
}

// Schedule returns when the frames of p, from Compile, are due.
//
// The capture's own timing is a pace.Captured with a period of one pass and one
// mean gap (the last due time divided among the gaps, rounded up to a ns).
// Where all frames have one time stamp, or there is one frame, there is no gap:
// passes then follow each other at once unless LoopGap parts them.
func Schedule(p *plan.Plan, t Timing) (pace.Schedule, error) {
	rated := t.Rate != (pace.Rate{})
	given := 0
	for _, is := range []bool{t.Speed != "", rated, t.TopSpeed} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return nil, errors.New("speed, rate and top speed: give one of them")
	case t.LoopGap < 0:
		return nil, fmt.Errorf("gap between passes of %v: have less than 0", t.LoopGap)
	case t.LoopGap > 0 && (rated || t.TopSpeed):
		return nil, errors.New("gap between passes: goes with the capture's own timing, not with a rate or top speed")
	case t.TopSpeed || rated && t.Rate.Unit == pace.Unlimited:
		return pace.Max{}, nil
	case rated:
		heads := &p.Streams[0].Heads
		pps, err := t.Rate.FramesPerSecond(uint64(heads.Bytes()), uint64(heads.Len()), t.Link)
		if err != nil {
			return nil, err
		}
		s, err := pace.Every(pps)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	num, den := uint64(1), uint64(1)
	if t.Speed != "" {
		var err error
		if num, den, err = ParseSpeed(t.Speed); err != nil {
			return nil, err
		}
	}
	if len(p.Due) == 0 {
		return nil, errors.New("plan without due times: only a capture has a timing of its own")
	}
	return pace.Captured{Times: p.Due, Num: num, Den: den, Period: period(p.Due), Gap: int64(t.LoopGap)}, nil
}

// period returns how long one pass takes, in ns.
func period(due []int64) int64 {
	last := due[len(due)-1]
	return last + meanGap(last, len(due))
}

// meanGap returns the mean gap of n frames within a span of ns, rounded up; 0 where
// there is none.
func meanGap(span int64, n int) int64 {
	gaps := int64(n - 1)
	if gaps == 0 {
		return 0
	}
	gap := span / gaps
	if span%gaps != 0 {
		gap++
	}
	return gap
}

// ParseSpeed reads a factor of speed as an exact fraction: a decimal number
// ("0.0000002", "1000", "2.5e3") or a ratio of two ("1/3"), above 0, whose
// numerator and denominator fit into 63 bits after reduction: 18 digits do.
func ParseSpeed(text string) (num, den uint64, err error) {
	over, under, ratio := strings.Cut(text, "/")
	r, ok := pace.Number(over)
	if ok && ratio {
		var d *big.Rat
		if d, ok = pace.Number(under); ok && d.Sign() != 0 {
			r.Quo(r, d)
		} else {
			ok = false
		}
	}
	switch {
	case !ok:
		return 0, 0, fmt.Errorf("speed %q: not a number; write 0.5, 2 or 1/3", text)
	case r.Sign() <= 0:
		return 0, 0, fmt.Errorf("speed %q: a speed is above 0", text)
	case r.Num().BitLen() > 63 || r.Denom().BitLen() > 63:
		return 0, 0, fmt.Errorf("speed %q: too large, too small or too many digits; 18 fit", text)
	}
	return r.Num().Uint64(), r.Denom().Uint64(), nil
}
