package packet

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"squall/internal/pace"
	"squall/internal/port"
)

// ReaderConfig sizes a Reader's ring. The zero value is the default: 128 blocks of
// 256 KiB, 32 MiB in all, which hold some 230,000 of the smallest frames. The
// memory belongs to the socket and is not counted as locked (RLIMIT_MEMLOCK).
type ReaderConfig struct {
	// BlockSize in bytes, a power of two of at least 16 KiB so that the longest
	// frame finds room; 0: 256 KiB.
	BlockSize int
	// Blocks is how many there are, at least 2; 0: 128. A block goes to the
	// reader when it is full or 4 ms old, so at low rates this is also how long
	// the reader may be away: half a second.
	Blocks int
}

const (
	blockSize  = 256 << 10
	blocks     = 128
	leastBlock = 16 << 10
	// retire is when the kernel gives a block over that is not full.
	retire = 4 * time.Millisecond
	// statsEvery keeps the kernel's 32-bit counters, which start again when
	// they are read, from running over: 1.4e9 frames a second would do it.
	statsEvery = 3 * int64(time.Second)
)

// Reader takes frames off a port: a port.BatchReader. While it is open the port
// is promiscuous. What the port itself sends is not seen.
type Reader struct {
	*socket
	ring   ring
	frames []port.Frame
	held   bool  // the current block is ours until the next Receive
	last   int64 // arrival of the frame before
	failed error // of the socket, to be returned when the ring is empty

	mu    sync.Mutex
	stats port.ReadStats
	read  int64 // when the kernel's counters were read, CLOCK_MONOTONIC ns
}

var _ port.BatchReader = (*Reader)(nil)

// OpenReader starts taking frames off the port. Every frame that arrives from
// then on is either received or counted as dropped. It needs CAP_NET_RAW.
func OpenReader(p *port.Port, c ReaderConfig) (*Reader, error) {
	if c.BlockSize == 0 {
		c.BlockSize = blockSize
	}
	if c.Blocks == 0 {
		c.Blocks = blocks
	}
	if c.BlockSize < leastBlock || bits.OnesCount(uint(c.BlockSize)) != 1 || c.Blocks < 2 {
		return nil, fmt.Errorf("ring of %d blocks of %d bytes: need at least 2, of a power of two of at least %d", c.Blocks, c.BlockSize, leastBlock)
	}
	// Until the ring is there nothing comes in: it would be counted and lost.
	closed, err := bpf.Assemble([]bpf.Instruction{bpf.RetConstant{Val: 0}})
	if err != nil {
		return nil, err
	}
	s, err := open(p, unix.ETH_P_ALL, closed, true)
	if err != nil {
		return nil, err
	}
	r := &Reader{socket: s, frames: make([]port.Frame, 0, c.BlockSize/leastRecord)}
	if err := r.setUp(c); err != nil {
		return nil, errors.Join(s.explain(err), r.Close())
	}
	return r, nil
}

func (r *Reader) setUp(c ReaderConfig) error {
	if err := r.set(unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("TPACKET_V3: %w", err)
	}
	if err := r.set(unix.PACKET_IGNORE_OUTGOING, 1); err != nil { // Linux 4.20
		return fmt.Errorf("PACKET_IGNORE_OUTGOING: %w", err)
	}
	var err error
	if r.ring, err = mapRing(r.fd, c.BlockSize, c.Blocks, retire); err != nil {
		return err
	}
	err = unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
	return os.NewSyscallError("SO_DETACH_FILTER", err)
}

// Receive returns the frames of the next block, waiting for one for as long as
// wait. A frame may take up to 4 ms from its arrival to here; its time stamp is
// that of its arrival. It never falls from frame to frame, and is as exact as
// CLOCK_REALTIME is steady: the kernel stamps by that clock.
//
// When the port goes down or is deleted, Receive returns what has come until
// then, and thereafter an error that matches [port.ErrLink] or [port.ErrGone].
// A port without carrier is no error: nothing arrives.
func (r *Reader) Receive(wait time.Duration) ([]port.Frame, error) {
	if r.held {
		r.ring.release()
		r.held = false
	}
	if err := r.tally(false); err != nil {
		return nil, r.explain(err)
	}
	deadline := pace.Now() + int64(wait)
	for !r.ring.ready() {
		if r.failed != nil {
			return nil, r.explain(r.failed)
		}
		left := deadline - pace.Now()
		if left < 0 {
			return nil, nil
		}
		if err := r.await(time.Duration(left)); err != nil {
			return nil, r.explain(err)
		}
	}
	r.held = true
	r.take()
	return r.frames, nil
}

// await waits for a block. When the socket has an error instead, it is kept until
// the block under way has had the time to be given over.
func (r *Reader) await(wait time.Duration) error {
	events, err := r.poll(unix.POLLIN, wait)
	if err != nil || events&unix.POLLERR == 0 {
		return err
	}
	if r.failed = r.pending(); r.failed == nil {
		return nil
	}
	if errors.Is(r.failed, unix.ENETDOWN) {
		// What a deleted interface says too.
		if err := r.port.CheckLink(); err != nil {
			r.failed = err
		}
	}
	time.Sleep(4 * retire)
	return nil
}

// take makes frames of the current block.
func (r *Reader) take() {
	toRealtime := pace.Realtime()
	now := pace.Now()
	r.frames = r.frames[:0]
	for rec := range r.ring.records() {
		f := rec.frame()
		// The two clocks are read some ns apart, and the real time may be set.
		f.At = min(max(rec.realtime()-toRealtime, r.last), now)
		r.last = f.At
		r.frames = append(r.frames, f)
	}
}

// Stats returns the kernel's own count of what came into the ring and of what
// found no room there. Frames that wait in the ring are among the first.
func (r *Reader) Stats() (port.ReadStats, error) {
	if err := r.tally(true); err != nil {
		return port.ReadStats{}, r.explain(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats, nil
}

// tally adds the kernel's counters up. Each reading starts them again
// (packet(7), PACKET_STATISTICS), and their packets include the drops.
func (r *Reader) tally(now bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := pace.Now()
	if !now && t-r.read < statsEvery {
		return nil
	}
	r.read = t
	s, err := unix.GetsockoptTpacketStatsV3(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return os.NewSyscallError("PACKET_STATISTICS", err)
	}
	r.stats.Drops += uint64(s.Drops)
	r.stats.Frames += uint64(s.Packets - s.Drops)
	return nil
}

// Close gives the ring back and leaves promiscuous mode (the kernel does so with
// the socket).
func (r *Reader) Close() error {
	r.mu.Lock() // somebody may be asking for Stats
	defer r.mu.Unlock()
	r.frames, r.held = nil, false
	return errors.Join(r.ring.unmap(), r.close())
}
