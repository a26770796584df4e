package live

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// ownThread locks the goroutine to its thread, pins that to a core unless cpu is
// negative, and has the kernel wake it when asked instead of up to 50 us later
// (PR_SET_TIMERSLACK of prctl(2), a setting of the thread). The returned function
// puts everything back.
func ownThread(cpu int) (restore func(), err error) {
	runtime.LockOSThread()
	var before unix.CPUSet
	pinned := false
	if cpu >= 0 {
		var only unix.CPUSet
		only.Set(cpu)
		if err = unix.SchedGetaffinity(0, &before); err == nil {
			err = unix.SchedSetaffinity(0, &only)
		}
		if err != nil {
			runtime.UnlockOSThread()
			return nil, fmt.Errorf("pinning to core %d: %w", cpu, os.NewSyscallError("sched_setaffinity", err))
		}
		pinned = true
	}
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	slow := err == nil && unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) == nil
	return func() {
		if slow {
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		}
		if pinned {
			if unix.SchedSetaffinity(0, &before) != nil {
				return // still locked: the thread ends with the goroutine
			}
		}
		runtime.UnlockOSThread()
	}, nil
}

// sleep sleeps until the monotonic time t, in ns. A signal may end it early.
func sleep(t int64) {
	ts := unix.NsecToTimespec(t)
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil)
}
