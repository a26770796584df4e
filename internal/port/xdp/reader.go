package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"squall/internal/pace"
	"squall/internal/port"
)

// ReaderConfig sizes a Reader. The zero value is the default.
type ReaderConfig struct {
	// Frames is how many frames each receive queue has room for, a power of two
	// of at least 64; 0: 8192, or 4 ms of 2 Mpps. Each takes 2 KiB of locked
	// memory, or 4 KiB where the MTU is above 1770. Where RLIMIT_MEMLOCK has no
	// room for them there are fewer, see [Info].
	Frames int
}

const (
	defaultRxFrames = 8192
	// most is how many frames one Receive returns, or half of a queue's where
	// there are fewer than twice as many. They are withheld from the kernel
	// meanwhile.
	most = 256
	// stampLen is the time of arrival before each frame, see bpf/xsk.bpf.c.
	stampLen = 8
	// settle is how old a frame of a port with several queues must be before it
	// is returned, in ns. Each queue shows the frames of one poll at once (64 of
	// them, napi_poll), so that younger ones of another may still be on their
	// way.
	settle = 250_000
)

// Reader takes all frames off a port: a port.BatchReader. While it is open the
// port is promiscuous, and its own stack receives nothing.
type Reader struct {
	port     *port.Port
	info     Info
	sentinel *sentinel
	umem     *umem
	queues   []*rxQueue
	program  *program
	polled   []unix.PollFd // the sentinel and the queues
	frames   []port.Frame
	last     int64 // arrival of the frame before
	soon     int64 // when a frame that is too young will be old enough; 0: there is none
	failed   error // of the port, to be returned when the rings are empty

	mu sync.Mutex // between Stats and Close
}

var _ port.BatchReader = (*Reader)(nil)

// rxQueue is one receive queue with the socket that has it.
type rxQueue struct {
	sock     *socket
	rx       rxRing
	fill     fillRing
	complete completionRing // for a Writer that shares the queue
}

// OpenReader starts taking frames off all receive queues of the port. Every
// frame that arrives from then on is either received or counted as dropped. It
// attaches an XDP program, natively where the driver can; Close takes it off, and
// so does the kernel however the process ends. It needs CAP_NET_RAW,
// CAP_NET_ADMIN and CAP_BPF.
func OpenReader(p *port.Port, c ReaderConfig) (*Reader, error) { return openReader(p, c, 0) }

// OpenBoth opens a Writer and a Reader of one port, which share its queues: one
// alone would have them for itself. Both are closed, in any order. The Writer has
// at most as many frames as a receive queue.
func OpenBoth(p *port.Port, c Config, rc ReaderConfig) (*Writer, *Reader, error) {
	r, err := openReader(p, rc, 1)
	if err != nil {
		return nil, nil, err
	}
	w, err := open(p, c, r)
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	return w, r, nil
}

// openReader leaves as many pools for writers.
func openReader(p *port.Port, c ReaderConfig, writers int) (*Reader, error) {
	if c.Frames == 0 {
		c.Frames = defaultRxFrames
	}
	if c.Frames < leastFrames || bits.OnesCount(uint(c.Frames)) != 1 {
		return nil, fmt.Errorf("%d frames: need a power of two of at least %d", c.Frames, leastFrames)
	}
	r := &Reader{port: p}
	if err := r.setUp(c, writers); err != nil {
		return nil, errors.Join(r.explain(err), r.Close())
	}
	return r, nil
}

func (r *Reader) setUp(c ReaderConfig, writers int) error {
	if err := fits(r.port.MTU); err != nil {
		return err
	}
	info, err := r.port.Inspect()
	if err != nil {
		return err
	}
	if r.sentinel, err = newSentinel(r.port, true); err != nil {
		return err
	}
	r.polled = append(r.polled, unix.PollFd{Fd: int32(r.sentinel.fd)})
	if r.program, err = loadProgram(info.RxQueues); err != nil {
		return err
	}
	for queue := range info.RxQueues {
		if err := r.open(queue, c, info.RxQueues+writers); err != nil {
			return err
		}
	}
	first := r.queues[0].sock
	if r.info.ZeroCopy, err = first.zeroCopy(); err != nil {
		return err
	}
	r.frames = make([]port.Frame, 0, min(most, r.umem.part/2))
	r.info.Memory, r.info.Wanted = len(r.umem.mem), r.umem.wanted
	// Last, so that all queues begin at once.
	err = r.program.attach(r.port)
	r.info.Program = r.program.mode()
	return err
}

// open binds a socket to one queue. The first one brings the memory for all, of
// so many pools.
func (r *Reader) open(queue int, c ReaderConfig, pools int) error {
	s, err := newSocket(r.port)
	if err != nil {
		return err
	}
	q := &rxQueue{sock: s}
	r.queues = append(r.queues, q)
	var shared *socket
	if queue > 0 {
		shared = r.queues[0].sock
	} else if r.umem, err = newUMEM(s, chunkFor(frameLen(r.port.MTU)+headroom), c.Frames, pools); err != nil {
		return err
	}
	n := r.umem.part
	if q.fill, err = s.fill(n); err != nil {
		return err
	}
	if q.complete, err = s.completion(n); err != nil {
		return err
	}
	if err := s.rx(&q.rx, n); err != nil {
		return err
	}
	if err := s.bind(r.port, queue, unix.XDP_USE_NEED_WAKEUP, shared); err != nil {
		return err
	}
	frames := r.umem.pool(queue, n)
	for i := range n {
		q.fill.put(frames.at(i))
	}
	q.fill.publish()
	r.info.Queues = append(r.info.Queues, queue)
	r.polled = append(r.polled, unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN})
	return r.program.give(queue, s)
}

func (r *Reader) explain(err error) error {
	return r.port.Ref.Explain(err, "CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF")
}

// Info returns how the engine runs on the port.
func (r *Reader) Info() Info { return r.info }

// Mode returns Info().Mode().
func (r *Reader) Mode() string { return r.info.Mode() }

// Receive returns up to 256 frames, waiting for some for as long as wait. A
// frame's time is that at which the XDP program saw it (bpf_ktime_get_ns), or,
// where the driver leaves no room for it before the frame, that of this call. It
// never falls from frame to frame. Where the port has several queues their frames
// are put in the order of arrival, for which they are held back by 0.25 ms.
//
// When the port goes down or is deleted, Receive returns what has come until
// then, and thereafter an error that matches [port.ErrLink] or [port.ErrGone].
// A port without carrier is no error: nothing arrives.
func (r *Reader) Receive(wait time.Duration) ([]port.Frame, error) {
	r.giveBack()
	deadline := pace.Now() + int64(wait)
	for r.collect(); len(r.frames) == 0; r.collect() {
		left := deadline - pace.Now()
		switch {
		case r.soon != 0 && left >= 0:
			sleep(min(r.soon-pace.Now(), left))
			continue
		case r.failed != nil:
			return nil, r.explain(r.failed)
		case left < 0:
			return nil, nil
		}
		if err := r.await(left); err != nil {
			return nil, r.explain(err)
		}
	}
	return r.frames, nil
}

// giveBack gives the frames of the last call to the kernel for new ones.
func (r *Reader) giveBack() {
	for _, q := range r.queues {
		q.rx.release()
		q.fill.publish()
		if q.fill.wanting() {
			q.sock.refill()
		}
	}
}

// collect takes the frames that are there, the oldest first.
func (r *Reader) collect() {
	r.frames, r.soon = r.frames[:0], 0
	for _, q := range r.queues {
		q.rx.look()
	}
	now := pace.Now()
	limit := int64(math.MaxInt64)
	if len(r.queues) > 1 && r.failed == nil {
		limit = now - settle
	}
	for len(r.frames) < cap(r.frames) {
		q, at := r.oldest(now)
		if q == nil {
			return
		}
		if at > limit {
			r.soon = at + settle
			return
		}
		d, _ := q.rx.head()
		q.rx.next++
		data := r.umem.mem[d.Addr : d.Addr+uint64(d.Len) : d.Addr+uint64(d.Len)]
		r.last = max(r.last, at)
		r.frames = append(r.frames, port.Frame{Data: data, Len: len(data), At: r.last})
		// The next frame here may come without a stamp.
		clear(r.umem.mem[d.Addr-stampLen : d.Addr])
		q.fill.put(d.Addr &^ uint64(r.umem.chunk-1))
	}
}

// oldest returns the queue whose next frame came first, and when; nil where no
// queue has one.
func (r *Reader) oldest(now int64) (first *rxQueue, at int64) {
	for _, q := range r.queues {
		d, ok := q.rx.head()
		if !ok {
			continue
		}
		t := int64(binary.NativeEndian.Uint64(r.umem.mem[d.Addr-stampLen:]))
		if t <= 0 || t > now {
			t = now // no stamp, or the driver's own metadata
		}
		if first == nil || t < at {
			first, at = q, t
		}
	}
	return first, at
}

// await waits for a frame. Where the port ends instead, that is kept until the
// frames that came before have been taken.
func (r *Reader) await(left int64) error {
	ts := unix.NsecToTimespec(left)
	_, err := unix.Ppoll(r.polled, &ts, nil)
	if err != nil && err != unix.EINTR {
		return os.NewSyscallError("ppoll", err)
	}
	if err == nil && r.polled[0].Revents&unix.POLLERR != 0 {
		r.failed = r.sentinel.pending()
	}
	return nil
}

// Stats returns how many frames came into the rings, those that wait there
// included, and how many found no room: for want of a free frame or of a place in
// the ring (rx_dropped and rx_ring_full of XDP_STATISTICS; the former includes
// frames too long). rx_fill_ring_empty_descs counts the former once more. The
// port counts them among its own drops too, as the driver sees fit: a veth as
// rx_dropped.
func (r *Reader) Stats() (port.ReadStats, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sum port.ReadStats
	for _, q := range r.queues {
		s, err := statistics(q.sock.fd)
		if err != nil {
			return port.ReadStats{}, r.explain(err)
		}
		sum.Frames += q.rx.came()
		sum.Drops += s.Rx_dropped + s.Rx_ring_full
	}
	return sum, nil
}

// Close takes the XDP program off, leaves promiscuous mode and gives the memory
// back.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	if r.program != nil {
		errs = append(errs, r.program.close())
	}
	for _, q := range r.queues {
		errs = append(errs, q.sock.close())
	}
	if r.umem != nil {
		errs = append(errs, r.umem.release())
	}
	if r.sentinel != nil {
		errs = append(errs, r.sentinel.close())
	}
	r.program, r.queues, r.umem, r.sentinel, r.frames = nil, nil, nil, nil, nil
	return errors.Join(errs...)
}
