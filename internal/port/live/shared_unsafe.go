package live

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"squall/internal/port/bpf"
)

// memory is a map of the kind array, mapped into this process: its entries lie
// one after the other, each in a multiple of 8 bytes.
type memory []byte

func mapMemory(m *ebpf.Map) (memory, error) {
	stride := (int(m.ValueSize()) + 7) &^ 7
	page := os.Getpagesize()
	n := (stride*int(m.MaxEntries()) + page - 1) &^ (page - 1)
	b, err := unix.Mmap(m.FD(), 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("memory of %s: %w", m, os.NewSyscallError("mmap", err))
	}
	return b, nil
}

func (m *memory) unmap() error {
	if *m == nil {
		return nil
	}
	b := *m
	*m = nil
	return os.NewSyscallError("munmap", unix.Munmap(b))
}

// state is the memory as the program's only global variable, which begins it.
func (m memory) state() *bpf.LiveState {
	_ = m[:unsafe.Sizeof(bpf.LiveState{})]
	return (*bpf.LiveState)(unsafe.Pointer(unsafe.SliceData(m)))
}

// entries is the memory as a table. T has a size that is a multiple of 8, or
// stride is its size and the table is read by none but At.
func entries[T any](m memory) []T {
	var e T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(m))), len(m)/int(unsafe.Sizeof(e)))
}
