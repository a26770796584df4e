package main

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/spf13/cobra"

	"squall/internal/pace"
)

// paceFlags say when frames go.
type paceFlags struct {
	rate     string
	duration time.Duration
	count    uint64
	burst    uint64
	gap      time.Duration
	rampFrom string
	rampOver time.Duration
}

func (f *paceFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.rate, "rate", "", "how fast: `1.2Mpps|940Mbit|940Mbit/l2|80%|max` (default max, or the rates of the stream file)")
	fs.DurationVar(&f.duration, "duration", 0, "how long; without --duration and --count until Ctrl-C")
	fs.Uint64Var(&f.count, "count", 0, "how many `frames`")
	fs.Uint64Var(&f.burst, "burst", 0, "send `N` frames back to back, then pause so that the mean is --rate, or for --gap")
	fs.DurationVar(&f.gap, "gap", 0, "time from the start of a burst to the start of the next")
	fs.StringVar(&f.rampFrom, "ramp-from", "", "begin at this `rate` and rise or fall to --rate in a straight line")
	fs.DurationVar(&f.rampOver, "ramp-over", 0, "how long the ramp takes")
}

func (f *paceFlags) check(c *cobra.Command) error {
	switch {
	case c.Flags().Changed("duration") && f.duration <= 0:
		return fmt.Errorf("--duration %v: need a time above 0", f.duration)
	case c.Flags().Changed("count") && f.count == 0:
		return errors.New("--count 0: need at least one frame")
	case c.Flags().Changed("burst") && f.burst == 0:
		return errors.New("--burst 0: need at least one frame")
	case f.gap < 0 || c.Flags().Changed("gap") && f.gap == 0:
		return fmt.Errorf("--gap %v: need a time above 0", f.gap)
	case f.gap > 0 && f.burst == 0:
		return errors.New("--gap goes with --burst")
	case f.gap > 0 && f.rate != "":
		return errors.New("--gap and --rate both say how fast bursts follow each other: give one")
	case f.burst > 0 && f.gap == 0 && (f.rate == "" || f.rate == "max"):
		return errors.New("--burst needs --rate or --gap, or there is no pause between bursts")
	case (f.rampFrom == "") != (f.rampOver == 0):
		return errors.New("--ramp-from and --ramp-over go together")
	case f.rampOver < 0:
		return fmt.Errorf("--ramp-over %v: need a time above 0", f.rampOver)
	case f.rampFrom != "" && (f.rate == "" || f.rate == "max" || f.burst > 0):
		return errors.New("a ramp needs the --rate it ends at, and no --burst")
	}
	return nil
}

// even returns the rate where frames go evenly, max where they do not; empty: as the
// streams say.
func (f *paceFlags) even() string {
	if f.burst > 0 || f.rampFrom != "" {
		return "max"
	}
	return f.rate
}

// frames is what a rate is reckoned with: bytes of n frames without FCS, and the
// link's speed.
type frames struct{ bytes, n, link uint64 }

// schedule returns the schedule, and the rate asked as it was written. whole is
// what the streams ask for together; nil: as fast as possible.
func (f *paceFlags) schedule(whole *big.Rat, of frames) (pace.Schedule, string, error) {
	if f.gap > 0 {
		every := pace.Constant{Frames: 1, Ns: uint64(f.gap)}
		return pace.Bursts{N: f.burst, Of: every}, fmt.Sprintf("%d each %v", f.burst, f.gap), nil
	}
	asked := "as in the file"
	if f.rate != "" || whole == nil {
		r, err := pace.ParseRate(orMax(f.rate))
		if err != nil {
			return nil, "", err
		}
		if whole, err = r.FramesPerSecond(of.bytes, of.n, of.link); err != nil {
			return nil, "", err
		}
		asked = r.String()
	}
	if whole == nil {
		return pace.Max{}, "max", nil
	}
	if f.rampFrom != "" {
		return f.ramp(whole, asked, of)
	}
	if f.burst > 0 {
		bursts := new(big.Rat).Quo(whole, new(big.Rat).SetInt(new(big.Int).SetUint64(f.burst)))
		c, err := pace.Every(bursts)
		return pace.Bursts{N: f.burst, Of: c}, fmt.Sprintf("%s in %ds", asked, f.burst), err
	}
	c, err := pace.Every(whole)
	return c, asked, err
}

func (f *paceFlags) ramp(to *big.Rat, asked string, of frames) (pace.Schedule, string, error) {
	r, err := pace.ParseRate(f.rampFrom)
	if err != nil {
		return nil, "", fmt.Errorf("--ramp-from: %w", err)
	}
	from, err := r.FramesPerSecond(of.bytes, of.n, of.link)
	if err != nil {
		return nil, "", err
	}
	if from == nil {
		return nil, "", errors.New("--ramp-from max: a ramp begins at a rate")
	}
	a, _ := from.Float64()
	b, _ := to.Float64()
	return pace.Ramp{From: a, To: b, Over: int64(f.rampOver)}, fmt.Sprintf("%s to %s in %v", r, asked, f.rampOver), nil
}

func orMax(rate string) string {
	if rate == "" {
		return "max"
	}
	return rate
}
