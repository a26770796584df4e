package pcaps

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// TimePolicy says what becomes of a record whose time is wrong: not ClockSound,
// or beyond what the container holds.
type TimePolicy uint8

const (
	TimeClamp TimePolicy = iota // it gets the nearest time that is not before the frame in front
	TimeSkip                    // it is left out
	TimeStop                    // nothing is written
)

// ParseTimePolicy reads clamp, skip or stop.
func ParseTimePolicy(name string) (TimePolicy, error) {
	for p, n := range []string{"clamp", "skip", "stop"} {
		if n == name {
			return TimePolicy(p), nil
		}
	}
	return 0, fmt.Errorf("time errors %q: have clamp, skip, stop", name)
}

// Conversion says how one capture is made of another. The zero value copies what
// the writer's format can hold.
type Conversion struct {
	// Ethernet gives frames of other link types an Ethernet header, and leaves
	// out those that cannot have one.
	Ethernet bool
	Reframer Reframer
	Times    TimePolicy
}

// Converted says what became of the records: Read = Written + the sum of Left.
type Converted struct {
	Read     uint64
	Written  uint64
	Reframed uint64 // got an Ethernet header
	Cut      uint64 // by the writer's snap length
	Excess   uint64 // had more captured than there was; that was dropped
	Clamped  uint64 // had a wrong time and got another
	Rounded  uint64 // had nanoseconds, where the format has microseconds
	// Left counts what was left out by the reason.
	Left map[string]uint64
}

// maxReasons bounds Left: a frame may give any number as its protocol.
const maxReasons = 64

// leave counts a record that is left out.
func (c *Converted) leave(why string) {
	if c.Left == nil {
		c.Left = make(map[string]uint64)
	}
	if _, known := c.Left[why]; !known && len(c.Left) >= maxReasons {
		why = "other reasons"
	}
	c.Left[why]++
}

// Convert writes the records of r to w, in their order. Time stamps that go
// backwards stay as they are. It neither closes w nor keeps it.
//
// An error that is ErrTruncated is of the last record of r: what was before it is
// written, and w may be closed and kept. After any other one it may not. The
// error of ctx ends it.
func Convert(ctx context.Context, w *Writer, r *Reader, c Conversion) (sum Converted, err error) {
	container := w.enc.format.Container
	var before int64 // time of the frame in front
	for {
		rec, err := r.Next()
		sum.Excess = r.Excess()
		if errors.Is(err, io.EOF) {
			return sum, nil
		}
		if err != nil {
			return sum, err
		}
		if sum.Read++; sum.Read%4096 == 0 && ctx.Err() != nil {
			return sum, ctx.Err()
		}
		reframed := false
		if c.Ethernet {
			if rec.Data, rec.Len, reframed, err = c.Reframer.Frame(rec); err != nil {
				sum.leave(err.Error())
				continue
			}
			rec.LinkType = Ethernet
		}
		if wrong := rec.wrongTime(container); wrong != "" {
			switch c.Times {
			case TimeSkip:
				sum.leave(wrong)
				continue
			case TimeStop:
				return sum, fmt.Errorf("capture %q: record %d: %s", r.win.name, sum.Read, wrong)
			}
			rec.Time = max(before, min(rec.Time, container.Last()))
			sum.Clamped++
		}
		before = rec.Time
		if err := w.WriteRecord(rec); err != nil {
			return sum, err
		}
		sum.Written++
		if reframed {
			sum.Reframed++
		}
		if len(rec.Data) > w.enc.snap() {
			sum.Cut++
		}
		if container == PcapMicros && rec.Time%1000 != 0 {
			sum.Rounded++
		}
	}
}

// wrongTime says what is wrong with a record's time in a container; "": nothing.
func (r Record) wrongTime(c Container) string {
	switch {
	case r.Clock == ClockNone:
		return "no time stamp"
	case r.Clock == ClockInvalid:
		return "invalid time stamp"
	case r.Time > c.Last():
		return "time stamp after " + c.until()
	}
	return ""
}
