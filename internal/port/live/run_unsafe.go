package live

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// blank is what fresh pages begin with.
var blank [MaxLen]byte

// runAttr is the part of union bpf_attr that BPF_PROG_TEST_RUN reads
// (include/uapi/linux/bpf.h).
type runAttr struct {
	progFD              uint32
	retval              uint32
	dataIn, dataOut     uint32 // sizes
	in, out             uint64 // addresses
	repeat, duration    uint32
	contextIn, contextO uint32
	inContext, outC     uint64
	flags, cpu, batch   uint32
	_                   uint32
}

// run has the program run repeat times, batch of them to a round of pages. It
// returns early when the thread gets a signal. (The library's Run would begin
// again then.)
func (g *program) run(repeat, batch uint32) error {
	const testRun = 10 // BPF_PROG_TEST_RUN
	attr := &g.attr
	*attr = runAttr{
		progFD: uint32(g.objects.Live.FD()),
		dataIn: uint32(g.tables.base), in: uint64(uintptr(unsafe.Pointer(&blank))),
		repeat: repeat, batch: batch,
		flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES,
	}
	_, _, errno := unix.Syscall(unix.SYS_BPF, testRun, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr))
	runtime.KeepAlive(g)
	if errno != 0 && !errors.Is(errno, unix.EINTR) {
		return os.NewSyscallError("BPF_PROG_TEST_RUN", errno)
	}
	return nil
}
