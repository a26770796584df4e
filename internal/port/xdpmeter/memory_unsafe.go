package xdpmeter

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"squall/internal/port/bpf"
)

// memory is the mapped maps of a Meter. The program writes to them at any time:
// they are read word by word.
type memory struct {
	regions   [][]byte
	accounts  []bpf.MeterAccount
	slots     []bpf.MeterSlot
	latencies []uint64
	lateTimes []uint64
	extents   []uint64
}

// unmap is for when nothing refers to the memory any more.
func unmap(regions [][]byte) {
	for _, r := range regions {
		_ = unix.Munmap(r)
	}
}

// mapEntries maps an array map, whose values are of type T and a multiple of 8
// bytes long, as a slice of all its entries.
func mapEntries[T any](m *memory, of *ebpf.Map) ([]T, error) {
	var entry T
	n := int(of.MaxEntries())
	b, err := unix.Mmap(of.FD(), 0, n*int(unsafe.Sizeof(entry)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("memory of %s: %w", of, os.NewSyscallError("mmap", err))
	}
	m.regions = append(m.regions, b)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// snapshot copies an account while the program may be at it: every word is whole,
// and one may be ahead of another by the frames that came meanwhile.
func snapshot(of *bpf.MeterAccount) bpf.MeterAccount {
	var a bpf.MeterAccount
	const words = unsafe.Sizeof(a) / 8
	from, to := (*[words]uint64)(unsafe.Pointer(of)), (*[words]uint64)(unsafe.Pointer(&a))
	for i := range from {
		to[i] = atomic.LoadUint64(&from[i])
	}
	return a
}

// record is a ring buffer's record as the period that it is.
func record(b []byte) *bpf.MeterPeriod {
	_ = b[:unsafe.Sizeof(bpf.MeterPeriod{})]
	return (*bpf.MeterPeriod)(unsafe.Pointer(unsafe.SliceData(b)))
}
