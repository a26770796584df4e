package xdp

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring is what the four kinds of rings share: indices that run freely, modulo
// 2^32, over a power of two of entries. One side writes entries and then the
// producer, the other reads them and then writes the consumer; both indices are
// atomic, which orders the entries behind them.
type ring struct {
	producer *atomic.Uint32
	consumer *atomic.Uint32
	flags    *atomic.Uint32 // the kernel writes XDP_RING_NEED_WAKEUP
	mask     uint32
}

// wanting reports whether the kernel waits to be woken for this ring.
func (r *ring) wanting() bool { return r.flags.Load()&unix.XDP_RING_NEED_WAKEUP != 0 }

// offsets asks where the parts of a socket's rings lie in their mappings.
func offsets(fd int) (unix.XDPMmapOffsets, error) {
	var off unix.XDPMmapOffsets
	return off, getsockopt(fd, "XDP_MMAP_OFFSETS", unix.XDP_MMAP_OFFSETS, unsafe.Pointer(&off), unsafe.Sizeof(off))
}

// statistics asks for a socket's counters, which run from its making on.
func statistics(fd int) (unix.XDPStatistics, error) {
	var s unix.XDPStatistics
	return s, getsockopt(fd, "XDP_STATISTICS", unix.XDP_STATISTICS, unsafe.Pointer(&s), unsafe.Sizeof(s))
}

// options asks for the XDP_OPTIONS of a bound socket.
func options(fd int) (flags uint32, err error) {
	return flags, getsockopt(fd, "XDP_OPTIONS", unix.XDP_OPTIONS, unsafe.Pointer(&flags), unsafe.Sizeof(flags))
}

func getsockopt(fd int, name string, opt uintptr, p unsafe.Pointer, size uintptr) error {
	n := uint32(size)
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, opt, uintptr(p), uintptr(unsafe.Pointer(&n)), 0)
	switch {
	case errno != 0:
		return os.NewSyscallError(name, errno)
	case uintptr(n) != size: // Linux before 5.9 has shorter ones
		return fmt.Errorf("%s: have %d bytes, need %d: needs Linux 5.9", name, n, size)
	}
	return nil
}

// registerUMEM gives the kernel the memory that frames lie in.
func registerUMEM(fd int, mem []byte, chunk int) error {
	// The fields behind Headroom stay 0: aligned chunks, no TX metadata.
	reg := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))), Len: uint64(len(mem)), Size: uint32(chunk)}
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, unix.XDP_UMEM_REG, uintptr(unsafe.Pointer(&reg)), unsafe.Sizeof(reg), 0)
	if errno != 0 {
		return os.NewSyscallError("XDP_UMEM_REG", errno)
	}
	return nil
}

// mapRing makes one of a socket's rings with n entries of type E and maps it.
func mapRing[E uint64 | unix.XDPDesc](fd, option int, page int64, off unix.XDPRingOffset, n int) (r ring, entries []E, mem []byte, err error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_XDP, option, n); err != nil {
		return ring{}, nil, nil, os.NewSyscallError("setsockopt", err)
	}
	var e E
	mem, err = unix.Mmap(fd, page, int(off.Desc)+n*int(unsafe.Sizeof(e)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return ring{}, nil, nil, os.NewSyscallError("mmap", err)
	}
	index := func(at uint64) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&mem[at])) }
	r = ring{producer: index(off.Producer), consumer: index(off.Consumer), flags: index(off.Flags), mask: uint32(n - 1)}
	return r, unsafe.Slice((*E)(unsafe.Pointer(&mem[off.Desc])), n), mem, nil
}
