package xdp

import (
	"errors"
	"fmt"
	"math/bits"

	"golang.org/x/sys/unix"

	"squall/internal/port"
)

// Config of a Writer. The zero value is the default.
type Config struct {
	// Queue is the transmit queue of the port, from 0. A port with several
	// takes one Writer for each: frames of one job go in order, and those of
	// different queues have none.
	Queue int
	// Batch is how many frames are handed to the kernel at a time, 1 to 1024;
	// 0: 64.
	Batch int
	// Frames is how many frames may be under way, a power of two of at least
	// twice the batch; 0: 1024. Each takes 2 KiB of locked memory, or 4 KiB
	// where the MTU is above 2026. Where RLIMIT_MEMLOCK has no room for them
	// there are fewer, see [Info].
	Frames int
	// Copy has the kernel copy frames also where the driver could do without,
	// which leaves the port as it is.
	Copy bool
}

const (
	defaultBatch    = 64
	maxBatch        = 1024
	defaultTxFrames = 1024
	sendBuffer      = 8 << 20
	// spareRing is for a ring that the kernel asks for and nobody uses.
	spareRing = 64
)

func (c Config) withDefaults() (Config, error) {
	if c.Batch == 0 {
		c.Batch = defaultBatch
	}
	if c.Frames == 0 {
		c.Frames = max(defaultTxFrames, txEntries(c.Batch))
	}
	if c.Batch < 1 || c.Batch > maxBatch {
		return c, fmt.Errorf("batch of %d frames: need 1 to %d", c.Batch, maxBatch)
	}
	if c.Frames < max(leastFrames, 2*c.Batch) || bits.OnesCount(uint(c.Frames)) != 1 {
		return c, fmt.Errorf("%d frames: need a power of two of at least %d", c.Frames, max(leastFrames, 2*c.Batch))
	}
	return c, nil
}

// Open makes the port ready for sending. Copying, it changes nothing of it; for
// zero-copy it attaches an XDP program that leaves what arrives to the stack,
// since drivers want one. It needs CAP_NET_RAW, and for the program
// CAP_NET_ADMIN and CAP_BPF.
//
// A Reader of the same port has its queues for itself: see [OpenBoth].
func Open(p *port.Port, c Config) (*Writer, error) { return open(p, c, nil) }

// open shares memory and queues with a reader, if there is one.
func open(p *port.Port, c Config, r *Reader) (*Writer, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Writer{port: p}
	if err := w.setUp(c, r); err != nil {
		return nil, errors.Join(w.explain(err), w.Close())
	}
	return w, nil
}

func (w *Writer) setUp(c Config, r *Reader) error {
	info, err := w.port.Inspect()
	if err != nil {
		return err
	}
	if c.Queue < 0 || c.Queue >= info.TxQueues {
		return fmt.Errorf("queue %d: the port has %d to send by, from 0", c.Queue, info.TxQueues)
	}
	if w.sentinel, err = newSentinel(w.port, false); err != nil {
		return err
	}
	if w.sock, err = newSocket(w.port); err != nil {
		return err
	}
	// As for packet(7): FORCE needs CAP_NET_ADMIN, a full buffer is waited for.
	if unix.SetsockoptInt(w.sock.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer) != nil {
		if err := unix.SetsockoptInt(w.sock.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer); err != nil {
			return fmt.Errorf("SO_SNDBUF: %w", err)
		}
	}
	if r != nil {
		err = w.join(c, r)
	} else {
		err = w.alone(c, info)
	}
	if err != nil {
		return err
	}
	w.room = min(frameLen(w.port.MTU), w.umem.chunk)
	w.slots = make([]port.Slot, min(c.Batch, len(w.pool.addrs)/2))
	if w.info.ZeroCopy, err = w.sock.zeroCopy(); err != nil {
		return err
	}
	w.info.Queues, w.info.Memory, w.info.Wanted = []int{c.Queue}, len(w.umem.mem), w.umem.wanted
	return nil
}

// alone binds the socket with memory of its own.
func (w *Writer) alone(c Config, info port.Info) (err error) {
	zero := info.XDP.ZeroCopy && !c.Copy
	pools, fill := 1, spareRing
	flags := uint16(unix.XDP_USE_NEED_WAKEUP | unix.XDP_COPY)
	if zero {
		// The queue receives by this socket's memory too.
		pools, fill = 2, c.Frames
		flags = unix.XDP_USE_NEED_WAKEUP
	}
	if w.umem, err = newUMEM(w.sock, chunkFor(frameLen(w.port.MTU)), c.Frames, pools); err != nil {
		return err
	}
	f, err := w.sock.fill(fill)
	if err != nil {
		return err
	}
	if w.complete, err = w.sock.completion(c.Frames); err != nil {
		return err
	}
	if w.tx, err = w.sock.tx(txEntries(c.Batch)); err != nil {
		return err
	}
	w.pool = w.umem.pool(0, c.Frames)
	if err := w.sock.bind(w.port, c.Queue, flags, nil); err != nil {
		return err
	}
	if granted, err := w.sock.zeroCopy(); err != nil || !granted {
		return err
	}
	for rx, i := w.umem.pool(1, c.Frames), 0; i < w.umem.part; i++ {
		f.put(rx.at(i))
	}
	f.publish()
	if w.program, err = loadProgram(max(1, info.RxQueues)); err != nil {
		return err
	}
	err = w.program.attach(w.port)
	w.info.Program = w.program.mode()
	return err
}

// join binds the socket to a queue and the memory of a reader. The completion
// ring belongs to the socket that has the queue.
func (w *Writer) join(c Config, r *Reader) (err error) {
	if c.Queue >= len(r.queues) {
		return fmt.Errorf("queue %d: the port has %d to receive by, from 0, and shares no other", c.Queue, len(r.queues))
	}
	q := r.queues[c.Queue]
	w.owner, w.complete = q.sock.hold(), q.complete
	w.umem = r.umem.hold()
	w.pool = w.umem.pool(len(r.queues), c.Frames)
	w.info.Program = r.info.Program
	if w.tx, err = w.sock.tx(txEntries(c.Batch)); err != nil {
		return err
	}
	return w.sock.bind(w.port, c.Queue, 0, q.sock)
}

// txEntries leaves room for the frames of a batch that are put once more.
func txEntries(batch int) int { return 1 << bits.Len(uint(2*batch-1)) }
