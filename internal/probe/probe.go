package probe

import (
	"errors"
	"math"

	"golang.org/x/sys/unix"
)

// Probe is a source of counters. Read may be called from several goroutines
// and may wait for the kernel, so never call it where frames are due.
type Probe interface {
	// Name says what is read and where, as in "link lab-r:out".
	Name() string
	// Read returns the counters as they stand. A reading may come with an
	// error, and then holds what could be read.
	Read() (Reading, error)
}

// Counter is one number and where it stands.
type Counter struct {
	Where string // a port as [NETNS:]IFACE, a namespace, "softnet", "cpu", a command's title
	Name  string // the kernel's or the driver's own name
	Value uint64
	Bits  uint8 // width it wraps at, 32 or 64; 0 where it is not known
	Level bool  // a state (carrier, backlog), not a count: it also falls

	// Float is the number where Value cannot hold it: with a sign, a fraction,
	// or beyond 2^64. Value is then the nearest it can. It is 0 where Value says
	// it all, so a reader of whole numbers need not look.
	Float float64

	// Of names the whole that this counter is a part of, as the ticks of one CPU
	// in softirq are a part of all its ticks: between two readings the counters
	// of one Where and Of have moved by 100 % together, and [Change.Share] is
	// this one's part. Empty: of none.
	Of string
}

// Number returns the counter's number, fraction and sign included. Whole
// numbers over 2^53 are rounded.
func (c Counter) Number() float64 {
	if c.Float != 0 {
		return c.Float
	}
	return float64(c.Value)
}

// set stores a number as it fits. NaN is the caller's to refuse.
func (c *Counter) set(f float64) {
	c.Value, c.Float = whole(f), 0
	if float64(c.Value) != f {
		c.Float = f
	}
}

// whole is the natural number nearest to f.
func whole(f float64) uint64 {
	switch {
	case f <= 0:
		return 0
	case f >= 1<<64:
		return math.MaxUint64
	}
	return uint64(math.Round(f))
}

// Reading is what a probe found at one moment. No two counters share Where and
// Name.
type Reading struct {
	At       int64 // CLOCK_MONOTONIC in ns, when the last counter had been read
	Counters []Counter
}

// Value looks a counter up; false where the reading has none of that name.
func (r Reading) Value(where, name string) (uint64, bool) {
	for _, c := range r.Counters {
		if c.Where == where && c.Name == name {
			return c.Value, true
		}
	}
	return 0, false
}

// now is CLOCK_MONOTONIC, the clock of the tag's send times.
func now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // EINVAL and EFAULT only, clock_gettime(2)
	}
	return ts.Nano()
}

// Set is several probes as one, read in order.
type Set struct {
	Title  string
	Probes []Probe
}

// Name returns the title.
func (s Set) Name() string { return s.Title }

// Read returns the counters of all members that could be read, and the errors
// of the others joined.
func (s Set) Read() (Reading, error) {
	var all Reading
	var errs []error
	for _, p := range s.Probes {
		r, err := p.Read()
		if err != nil {
			errs = append(errs, err)
		}
		all.Counters = append(all.Counters, r.Counters...)
	}
	all.At = now()
	return all, errors.Join(errs...)
}
