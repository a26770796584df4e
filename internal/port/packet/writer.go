package packet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/port/walk"
	"squall/internal/wire"
)

// Config of a Writer. The zero value is the default.
type Config struct {
	// Batch is how many frames one system call takes at most, 1 to 1024
	// (UIO_MAXIOV of sendmmsg(2)); 0: 64.
	Batch int
	// Qdisc has frames pass through the port's queueing discipline, which may
	// delay, reorder or drop them. Else they go straight to the driver
	// (PACKET_QDISC_BYPASS).
	Qdisc bool
}

const (
	defaultBatch = 64
	maxBatch     = 1024
	sendBuffer   = 8 << 20
	vlanLen      = 4
	// lookEvery is how often a sending port's link is looked at, in ns.
	lookEvery = 100 * int64(time.Millisecond)
)

// Writer puts frames on a port: a port.BatchWriter, and a port.Sender by
// walking plans over itself.
type Writer struct {
	*socket
	slots []port.Slot
	vec   *vector
	mem   []byte

	// The system call under way.
	off, end int
	got      int
	errno    syscall.Errno

	looked  int64
	retries atomic.Uint64
}

var (
	_ port.BatchWriter = (*Writer)(nil)
	_ port.Sender      = (*Writer)(nil)
)

// Open makes the port ready for sending and changes nothing of it. It needs
// CAP_NET_RAW.
func Open(p *port.Port, c Config) (*Writer, error) {
	if c.Batch == 0 {
		c.Batch = defaultBatch
	}
	if c.Batch < 1 || c.Batch > maxBatch {
		return nil, fmt.Errorf("batch of %d frames: need 1 to %d", c.Batch, maxBatch)
	}
	s, err := open(p, 0, nil, false)
	if err != nil {
		return nil, err
	}
	w := &Writer{socket: s}
	if err := w.setUp(c); err != nil {
		return nil, errors.Join(s.explain(err), w.Close())
	}
	return w, nil
}

func (w *Writer) setUp(c Config) error {
	if !c.Qdisc {
		if err := w.set(unix.PACKET_QDISC_BYPASS, 1); err != nil {
			return fmt.Errorf("PACKET_QDISC_BYPASS: %w", err)
		}
	}
	// FORCE needs CAP_NET_ADMIN. Without it the limit of net.core.wmem_max
	// holds, and a full buffer is waited for.
	if unix.SetsockoptInt(w.fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer) != nil {
		if err := unix.SetsockoptInt(w.fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer); err != nil {
			return fmt.Errorf("SO_SNDBUF: %w", err)
		}
	}
	// Room for two VLAN tags over the MTU; what the port does not take of it
	// the kernel says (EMSGSIZE).
	size := (w.port.MTU + wire.HeaderLen + 2*vlanLen + 63) &^ 63
	mem, err := unix.Mmap(-1, 0, c.Batch*size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return fmt.Errorf("memory for %d frames: %w", c.Batch, os.NewSyscallError("mmap", err))
	}
	w.mem = mem
	w.slots = make([]port.Slot, c.Batch)
	for i := range w.slots {
		w.slots[i].Data = mem[i*size : (i+1)*size : (i+1)*size]
	}
	w.vec = newVector(w.slots)
	return nil
}

// Send walks the job's plan.
func (w *Writer) Send(ctx context.Context, job port.Job) (port.Sent, error) {
	return walk.Walk(ctx, w, job)
}

// BatchSize returns the configured batch.
func (w *Writer) BatchSize() int { return len(w.slots) }

// Reserve returns n slots, at most a batch: all are free at any time, because
// Submit copies.
func (w *Writer) Reserve(n int) []port.Slot { return w.slots[:min(n, len(w.slots))] }

// Retries counts frames handed over again after ENOBUFS.
func (w *Writer) Retries() uint64 { return w.retries.Load() }

// Submit hands the first n slots to the kernel, which stops at the first frame
// that it cannot take, and says why when it is asked to begin there. Where that has no room it waits,
// until ctx is done at most. The error matches [port.ErrLink] where the port is
// down or has no carrier, [port.ErrGone] where the interface was deleted, and
// EMSGSIZE where a frame is longer than the MTU allows.
func (w *Writer) Submit(ctx context.Context, n int) (int, error) {
	if err := w.look(); err != nil {
		return 0, w.explain(err)
	}
	w.vec.lengths(w.slots[:n])
	w.off, w.end = 0, n
	var full backoff
	short := false // the kernel stopped before a frame and did not say why
	for w.off < w.end {
		w.got, w.errno = w.vec.sendmmsg(uintptr(w.fd), w.off, w.end)
		if short && (w.errno == 0 || w.errno == unix.ENOBUFS) {
			w.retries.Add(1) // so it had no room for it
		}
		short = false
		if w.errno == 0 {
			w.off += w.got
			short = w.off < w.end
			full = backoff{}
			continue
		}
		if err := w.recover(&full); err != nil {
			return w.off, w.explain(err)
		}
		if ctx.Err() != nil {
			return w.off, ctx.Err()
		}
	}
	return n, nil
}

// recover waits until the frame at off is worth another try, or returns why it
// is not.
func (w *Writer) recover(full *backoff) error {
	switch w.errno {
	case unix.EINTR:
		return nil
	case unix.EAGAIN: // the send buffer is full
		_, err := w.poll(unix.POLLOUT, 20*time.Millisecond)
		return err
	case unix.ENOBUFS:
		// The queue is full, or there is no carrier: past the queueing
		// discipline the answer is the same (__dev_direct_xmit of
		// net/core/dev.c).
		w.retries.Add(1)
		if full.long() {
			if err := w.port.CheckLink(); err != nil {
				return err
			}
		}
		return full.wait()
	case unix.EMSGSIZE:
		return fmt.Errorf("frame size %d is above what the MTU of %d allows: %w",
			w.slots[w.off].Len+wire.FCSLen, w.port.MTU, w.errno)
	case unix.ENETDOWN:
		// A port that is being deleted is down first; the question waits
		// until it is gone.
		if err := w.port.CheckLink(); err != nil {
			return err
		}
	}
	return os.NewSyscallError("sendmmsg", w.errno)
}

// look finds out whether the link is still there, ten times a second. The
// queueing discipline of a port without carrier drops frames and reports that it
// took them (noop_enqueue of net/sched/sch_generic.c).
func (w *Writer) look() error {
	now := pace.Now()
	if now-w.looked < lookEvery {
		return nil
	}
	w.looked = now
	return w.running()
}

// Close gives the socket and the slots back.
func (w *Writer) Close() error {
	err := w.close()
	if w.mem != nil {
		err = errors.Join(err, os.NewSyscallError("munmap", unix.Munmap(w.mem)))
		w.mem, w.slots = nil, nil
	}
	return err
}
