package xdp

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"squall/internal/port"
	"squall/internal/wire"
)

const (
	// chunk sizes are what a frame may take of the UMEM: powers of two up to a
	// page (xdp_umem_reg of net/xdp/xdp_umem.c).
	smallChunk = 2048
	largeChunk = 4096
	// headroom is what the kernel keeps free before each received frame.
	headroom = unix.XDP_PACKET_HEADROOM
	vlanLen  = 4
	// leastFrames is the smallest pool: half of it is in the hands of the
	// engine's user, half in the kernel's.
	leastFrames = 64
)

// frameLen is the longest frame that a port takes and that has room in a chunk:
// the MTU with a header and two VLAN tags.
func frameLen(mtu int) int { return mtu + wire.HeaderLen + 2*vlanLen }

// chunkFor returns the size of the chunks for frames of n bytes.
func chunkFor(n int) int {
	if n <= smallChunk {
		return smallChunk
	}
	return largeChunk
}

// umem is memory shared with the kernel, in chunks of one frame each, as equal
// parts for the pools of a port's directions and queues. Who uses it holds it.
type umem struct {
	mem    []byte
	chunk  int
	part   int // chunks of one pool, a power of two
	wanted int // bytes asked for
	users  atomic.Int32
}

// newUMEM makes memory for pools of part chunks each, registers it with a socket
// and holds it. The pools are smaller where the limit on locked memory
// (RLIMIT_MEMLOCK) does not allow for them. That limit holds for all that this
// user has locked, so half of it is the most that is taken, and less again where
// the kernel still says ENOBUFS. A process with CAP_IPC_LOCK has no limit
// (xdp_umem_account_pages of net/xdp/xdp_umem.c).
func newUMEM(s *socket, chunk, part, pools int) (*umem, error) {
	limit, bound, err := lockLimit()
	if err != nil {
		return nil, err
	}
	u := &umem{chunk: chunk, part: part, wanted: part * pools * chunk}
	size := func() int { return u.part * pools * chunk }
	for bound && u.part >= leastFrames && uint64(size()) > limit/2 {
		u.part /= 2
	}
	for ; u.part >= leastFrames; u.part /= 2 {
		u.mem, err = unix.Mmap(-1, 0, size(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
		if err != nil {
			return nil, fmt.Errorf("memory for frames, %d KiB: %w", size()>>10, os.NewSyscallError("mmap", err))
		}
		if err = registerUMEM(s.fd, u.mem, chunk); err == nil {
			return u.hold(), nil
		}
		_ = unix.Munmap(u.mem)
		if !errors.Is(err, unix.ENOBUFS) {
			return nil, fmt.Errorf("memory for frames, %d KiB: %w", size()>>10, err)
		}
	}
	u.part = leastFrames
	return nil, fmt.Errorf("locked memory: have a limit of %d KiB for all sockets of this user, need %d KiB and half of the limit free: raise it (ulimit -l, LimitMEMLOCK=) or run with CAP_IPC_LOCK: %w",
		limit>>10, size()>>10, unix.ENOBUFS)
}

// lockLimit returns how much memory may be locked in bytes, and whether that
// holds for this process.
func lockLimit() (limit uint64, bound bool, err error) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r); err != nil {
		return 0, false, fmt.Errorf("RLIMIT_MEMLOCK: %w", err)
	}
	err = port.Capable(unix.CAP_IPC_LOCK)
	free := err == nil
	if errors.Is(err, port.ErrCapability) {
		err = nil
	}
	return r.Cur, !free && r.Cur != unix.RLIM_INFINITY, err
}

// hold and release count the users; the last one frees the memory.
func (u *umem) hold() *umem {
	u.users.Add(1)
	return u
}

func (u *umem) release() error {
	if u.users.Add(-1) > 0 {
		return nil
	}
	return os.NewSyscallError("munmap", unix.Munmap(u.mem))
}

// pool returns the k-th part of the memory, n frames of it at most.
func (u *umem) pool(k, n int) pool {
	n = min(n, u.part)
	p := pool{addrs: make([]uint64, n)}
	for i := range n {
		p.put(uint64((k*u.part + i) * u.chunk))
	}
	return p
}

// pool is the frames of one direction that are free, in the order in which they
// came back. It belongs to one goroutine.
type pool struct {
	addrs []uint64 // a power of two
	head  uint32   // the next to be used
	tail  uint32   // behind the last one
}

func (p *pool) free() int       { return int(p.tail - p.head) }
func (p *pool) at(i int) uint64 { return p.addrs[(p.head+uint32(i))&uint32(len(p.addrs)-1)] }
func (p *pool) take(n int)      { p.head += uint32(n) }

// untake gives back the last n frames that were taken: what was put since lies
// behind them, since no more frames than were taken before them came back.
func (p *pool) untake(n int) { p.head -= uint32(n) }

func (p *pool) put(addr uint64) {
	p.addrs[p.tail&uint32(len(p.addrs)-1)] = addr
	p.tail++
}
