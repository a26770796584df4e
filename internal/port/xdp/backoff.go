package xdp

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"squall/internal/pace"
)

// stuck is when a wait for the port is given up. The kernel itself calls a
// transmit queue stuck after 5 s (dev->watchdog_timeo).
const stuck = 10 * int64(time.Second)

// backoff spaces the tries of one thing: 1 us, 2 us, ... 1 ms. The zero value
// begins.
type backoff struct{ since, pause int64 }

// wait sleeps, and fails where it has been tried for too long.
func (b *backoff) wait() error {
	now := pace.Now()
	if b.since == 0 {
		b.since = now
	}
	if now-b.since > stuck {
		return fmt.Errorf("no room for a frame for %v, the transmit queue does not move: %w", time.Duration(stuck), unix.ENOBUFS)
	}
	b.pause = min(max(2*b.pause, 1000), 1_000_000)
	sleep(b.pause)
	return nil
}

// sleep sleeps for about so many ns.
func sleep(ns int64) {
	ts := unix.NsecToTimespec(ns)
	// Woken early the caller looks early.
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
}
