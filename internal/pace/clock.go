package pace

import (
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"
)

//go:linkname nanotime runtime.nanotime
func nanotime() int64

// Now returns CLOCK_MONOTONIC in ns: the clock of bpf_ktime_get_ns, read
// through the vDSO in some 20 ns. (unix.ClockGettime is a system call.)
func Now() int64 { return nanotime() }

// Realtime returns what to add to CLOCK_MONOTONIC to get CLOCK_REALTIME (Unix
// time) in ns, as of now. Of a few readings it takes the one whose two clocks
// were read closest together.
func Realtime() int64 {
	var best, offset int64
	for i := range 5 {
		a := Now()
		var ts unix.Timespec
		if unix.ClockGettime(unix.CLOCK_REALTIME, &ts) != nil {
			continue
		}
		b := Now()
		if i == 0 || b-a < best {
			best, offset = b-a, ts.Nano()-(a+(b-a)/2)
		}
	}
	return offset
}

// spin is how long before a deadline the waiting stops sleeping, in ns: a
// sleeping thread is woken some 50 to 80 us late.
const spin = 100_000

// longest bounds one sleep, so that a stop is noticed.
const longest = 20_000_000

// Wait waits until the monotonic time t, or at most 20 ms: the caller looks
// whether it is to stop and calls again. It sleeps by clock_nanosleep(2) with an
// absolute deadline and spins for the last 100 us.
func Wait(t int64) {
	now := Now()
	wake := min(t-spin, now+longest)
	if wake > now {
		ts := unix.NsecToTimespec(wake)
		// A signal ends the sleep early: the caller comes back.
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil)
		if wake < t-spin {
			return
		}
	}
	for Now() < t {
	}
}
