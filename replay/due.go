package replay

import (
	"errors"
	"fmt"
	"time"

	"squall/pcaps"
)

const (
	// reordered is how far back a time stamp may lie for the clock to have been right
	// all the same: several CPUs wrote into one capture. Beyond it somebody set it.
	reordered = int64(time.Second)
	// jump is how far a time stamp may lie ahead.
	jump = int64(24 * time.Hour)
)

// ErrTime: a time stamp that is wrong, where those end the reading.
var ErrTime = errors.New("wrong time stamp")

// clock makes due times of time stamps.
type clock struct {
	policy pcaps.TimePolicy
	maxGap int64
	sum    *Summary

	begun bool
	zero  int64 // the time stamp that is due at 0
	last  int64 // the latest time stamp
	due   int64 // of the newest frame
}

// next returns when a record is due, and false where it is left out for its time.
func (c *clock) next(r *pcaps.Record) (due int64, ok bool, err error) {
	if r.Clock != pcaps.ClockSound {
		return c.wrong(&c.sum.NoTime, fmt.Sprint(r.Clock))
	}
	if !c.begun {
		c.begun = true
		c.zero, c.last = r.Time-c.due, r.Time
		return c.due, true, nil
	}
	gap := r.Time - c.last
	switch {
	case gap < 0:
		due, ok, err = c.wrong(&c.sum.Backwards, fmt.Sprintf("%v before that of the frame in front", time.Duration(-gap)))
		if gap < -reordered {
			c.set(r.Time)
		}
		return due, ok, err
	case gap > jump:
		due, ok, err = c.wrong(&c.sum.Jumps, fmt.Sprintf("%v after that of the frame in front", time.Duration(gap)))
		c.set(r.Time)
		return due, ok, err
	case c.maxGap > 0 && gap > c.maxGap:
		c.sum.Shortened++
		c.zero += gap - c.maxGap
	}
	c.last = r.Time
	c.due = r.Time - c.zero
	return c.due, true, nil
}

// set has the clock go on from the newest frame's due time with another stamp.
func (c *clock) set(stamp int64) { c.zero, c.last = stamp-c.due, stamp }

// wrong is the fate of a record whose time is wrong.
func (c *clock) wrong(count *uint64, what string) (int64, bool, error) {
	switch c.policy {
	case pcaps.TimeSkip:
		c.sum.OutOfTime++
		return 0, false, nil
	case pcaps.TimeStop:
		return 0, false, fmt.Errorf("%w: %s; --time-errors clamp or skip goes on", ErrTime, what)
	}
	*count++
	return c.due, true, nil
}

// follow has the next record, of another file, due so long after the newest frame.
func (c *clock) follow(gap int64) {
	if c.begun {
		c.begun = false
		c.due += gap
	}
}
