package walk

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// ownThread locks the goroutine to its thread and has the kernel wake that
// thread when asked instead of up to 50 us later (PR_SET_TIMERSLACK of prctl(2),
// a setting of the thread). The returned function puts both back.
func ownThread() (restore func()) {
	runtime.LockOSThread()
	slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	}
	return func() {
		if err == nil {
			_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0)
		}
		runtime.UnlockOSThread()
	}
}
