package packet

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"squall/internal/pace"
)

const (
	// suspect is after how long without room for a single frame, in ns, the
	// link is looked at; each time as long again.
	suspect = 100 * int64(time.Millisecond)
	// stuck is when it is given up. The kernel itself calls a transmit queue
	// stuck after 5 s (dev->watchdog_timeo).
	stuck = 10 * int64(time.Second)
)

// backoff spaces the retries of one frame: 1 us, 2 us, ... 1 ms. The zero value
// begins.
type backoff struct {
	since, asked, pause int64
}

// long reports, every 100 ms, that there has been no room for that long.
func (b *backoff) long() bool {
	now := pace.Now()
	if b.since == 0 {
		b.since, b.asked = now, now
	}
	if now-b.asked < suspect {
		return false
	}
	b.asked = now
	return true
}

// wait sleeps, and fails where it has been tried for too long.
func (b *backoff) wait() error {
	if b.asked-b.since > stuck {
		return fmt.Errorf("no room for a frame for %v, the transmit queue does not move: %w",
			time.Duration(stuck), unix.ENOBUFS)
	}
	b.pause = min(max(2*b.pause, 1000), 1_000_000)
	ts := unix.NsecToTimespec(b.pause)
	// Woken early it tries early.
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &ts, nil)
	return nil
}
