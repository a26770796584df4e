package packet

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"squall/internal/port"
)

// vector is the argument of sendmmsg(2) for a set of slots, made once.
type vector struct {
	msgs []mmsghdr
	iovs []unix.Iovec
}

// mmsghdr is struct mmsghdr of sendmmsg(2).
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
}

func newVector(slots []port.Slot) *vector {
	v := &vector{msgs: make([]mmsghdr, len(slots)), iovs: make([]unix.Iovec, len(slots))}
	for i := range slots {
		v.iovs[i].Base = unsafe.SliceData(slots[i].Data)
		v.msgs[i].hdr.Iov = &v.iovs[i]
		v.msgs[i].hdr.SetIovlen(1)
	}
	return v
}

// lengths takes over how long the frames are.
func (v *vector) lengths(slots []port.Slot) {
	for i := range slots {
		v.iovs[i].SetLen(slots[i].Len)
	}
}

// sendmmsg sends the messages from off up to end and returns how many went.
// Syscall, not RawSyscall: the garbage collector must not wait for it.
func (v *vector) sendmmsg(fd uintptr, off, end int) (int, syscall.Errno) {
	n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&v.msgs[off])), uintptr(end-off), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}
