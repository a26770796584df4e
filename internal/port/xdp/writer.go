package xdp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/port/walk"
	"squall/internal/wire"
)

const (
	// lookEvery is how often a sending port's link is looked at, in ns.
	lookEvery = 100 * int64(time.Millisecond)
	// leave is how long Close waits for frames under way.
	leave = time.Second
)

// Writer puts frames on one queue of a port: a port.BatchWriter, and a
// port.Sender by walking plans over itself.
type Writer struct {
	port     *port.Port
	info     Info
	sentinel *sentinel
	sock     *socket
	owner    *socket  // of a reader, if it has the queue
	program  *program // where zero-copy needs one
	tx       txRing
	complete completionRing
	umem     *umem
	pool     pool
	slots    []port.Slot
	room     int // bytes of a slot

	looked  int64
	failed  error
	voided  uint64 // frames given up, which the kernel counts as invalid
	retries atomic.Uint64
}

var (
	_ port.BatchWriter = (*Writer)(nil)
	_ port.Sender      = (*Writer)(nil)
)

func (w *Writer) explain(err error) error {
	return w.port.Ref.Explain(err, "CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF")
}

// Info returns how the engine runs on the port.
func (w *Writer) Info() Info { return w.info }

// Mode returns Info().Mode().
func (w *Writer) Mode() string { return w.info.Mode() }

// Send walks the job's plan.
func (w *Writer) Send(ctx context.Context, job port.Job) (port.Sent, error) {
	return walk.Walk(ctx, w, job)
}

// BatchSize returns the configured batch, or half the frames where
// RLIMIT_MEMLOCK left fewer than two batches.
func (w *Writer) BatchSize() int { return len(w.slots) }

// Reserve returns up to n slots. It does not wait: Submit keeps a free frame.
func (w *Writer) Reserve(n int) []port.Slot {
	w.complete.reap(&w.pool)
	n = min(n, len(w.slots), w.pool.free())
	for i := range n {
		at := w.pool.at(i)
		w.slots[i].Data = w.umem.mem[at : at+uint64(w.room) : at+uint64(w.room)]
	}
	return w.slots[:n]
}

// Retries counts frames that the port refused (EBUSY) and that were handed over
// again. Each time the port counts the frame among its tx_dropped.
func (w *Writer) Retries() uint64 { return w.retries.Load() }

// Submit hands the first n slots to the kernel and returns how many it took out
// of the TX ring. Where the port has no room it waits, until ctx is done at most;
// then, and with any error, frames that were not taken are given up. The error
// matches [port.ErrLink] where the port is down or has no carrier, [port.ErrGone]
// where the interface was deleted, and EMSGSIZE where a frame is longer than the
// MTU allows.
func (w *Writer) Submit(ctx context.Context, n int) (int, error) {
	if err := w.look(); err != nil {
		return 0, w.explain(err)
	}
	if w.failed != nil {
		return 0, w.explain(w.failed)
	}
	n, unfit := w.fit(n)
	if err := w.keepFree(ctx, n); err != nil {
		return 0, w.explain(err)
	}
	for i := range n {
		w.tx.put(w.pool.at(i), w.slots[i].Len)
	}
	w.pool.take(n)
	w.tx.publish()
	err := w.push(ctx)
	if err == nil {
		return n, w.explain(unfit)
	}
	left := w.giveUp()
	w.pool.untake(left)
	return n - left, w.explain(err)
}

// fit returns how many of n frames come before the first that the port cannot
// take, and why it cannot. The kernel does not ask: the driver, or the other end
// of a veth, would drop it. As __is_skb_forwardable of include/linux/netdevice.h,
// a frame with a VLAN tag may be longer by it.
func (w *Writer) fit(n int) (int, error) {
	for i, s := range w.slots[:n] {
		limit := w.port.MTU + wire.HeaderLen
		switch {
		case s.Len < wire.HeaderLen:
			return i, fmt.Errorf("frame of %d bytes, need a header of %d: %w", s.Len, wire.HeaderLen, unix.EINVAL)
		case s.Len <= limit:
		case s.Len > limit+vlanLen, binary.BigEndian.Uint16(s.Data[12:]) != wire.EtherTypeVLAN:
			return i, fmt.Errorf("frame size %d is above what the MTU of %d allows: %w", s.Len+wire.FCSLen, w.port.MTU, unix.EMSGSIZE)
		}
	}
	return n, nil
}

// keepFree waits until a frame will be free after n are sent.
func (w *Writer) keepFree(ctx context.Context, n int) error {
	var b backoff
	for w.complete.reap(&w.pool); w.pool.free() <= n; w.complete.reap(&w.pool) {
		if err := w.pause(ctx, &b); err != nil {
			return err
		}
	}
	return nil
}

// push has the kernel send until the TX ring is empty.
func (w *Writer) push(ctx context.Context) error {
	var b backoff
	for {
		taken, err := w.kick()
		if err != nil {
			return err
		}
		if w.tx.waiting() == 0 {
			return nil
		}
		// The kernel may have stopped for want of room in the completion ring.
		w.complete.reap(&w.pool)
		if taken > 0 && ctx.Err() == nil {
			b = backoff{}
			continue
		}
		if err := w.pause(ctx, &b); err != nil {
			return err
		}
	}
}

// kick has the kernel send once and returns how many frames it took. Of the
// answers these are in the nature of things (net/xdp/xsk.c): EAGAIN for a full
// queue, completion ring or send buffer and for more frames than one call sends,
// ENOBUFS for want of memory, and EBUSY, which in copy mode is a frame that the
// port refused and dropped.
func (w *Writer) kick() (int, error) {
	if !w.tx.wanting() {
		return w.tx.settle(), nil
	}
	errno := w.sock.send()
	switch errno {
	case unix.EBUSY:
		if w.info.ZeroCopy {
			break
		}
		if i, found := w.complete.refused(&w.pool, &w.tx); found {
			w.retries.Add(1)
			return w.tx.again(i), nil
		}
	case 0, unix.EAGAIN, unix.ENOBUFS, unix.EINTR:
	case unix.ENETDOWN, unix.ENXIO:
		// A port that is being deleted is down first, and the socket is then
		// bound to nothing; the question waits until it is gone.
		if err := w.port.CheckLink(); err != nil {
			return w.tx.settle(), err
		}
		return w.tx.settle(), os.NewSyscallError("send", errno)
	default:
		return w.tx.settle(), os.NewSyscallError("send", errno)
	}
	return w.tx.settle(), nil
}

// giveUp makes the frames that wait void and returns how many of them the kernel
// had not taken. In copy mode it lets the kernel skip them, one or more a call, as
// long as the port is up, and has it count them: before Linux 6.17 it does not say
// how many it took of a batch that it has not finished.
func (w *Writer) giveUp() int {
	if w.info.ZeroCopy {
		return w.abandon()
	}
	w.tx.settle()
	before, err := statistics(w.sock.fd)
	left := w.tx.waiting()
	w.tx.void()
	for range left + 1 {
		if w.tx.settle(); w.tx.waiting() == 0 || err != nil {
			break
		}
		if errno := w.sock.send(); errno == unix.ENETDOWN || errno == unix.ENXIO {
			break
		}
	}
	after, err2 := statistics(w.sock.fd)
	if w.tx.waiting() == 0 && err == nil && err2 == nil {
		left = int(after.Tx_invalid_descs - before.Tx_invalid_descs)
	}
	w.tx.done = w.tx.next
	w.voided += uint64(left)
	return left
}

// abandon waits for a driver in zero-copy mode, which may be reading what waits,
// and returns how much it does not take. That stays in the ring: the writer is
// then of no more use.
func (w *Writer) abandon() int {
	for b, start := (backoff{}), pace.Now(); w.tx.waiting() > 0 && pace.Now()-start < int64(leave); _ = b.wait() {
		if w.tx.wanting() {
			w.sock.send()
		}
		w.tx.settle()
	}
	left := w.tx.waiting()
	if left > 0 {
		w.failed = fmt.Errorf("driver left %d frames in its ring for %v: open the port anew", left, leave)
	}
	return left
}

// pause waits a little, and fails where it is of no use any more.
func (w *Writer) pause(ctx context.Context, b *backoff) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.look(); err != nil {
		return err
	}
	return b.wait()
}

// look finds out, ten times a second, whether the link is still there and
// whether the kernel refused descriptors.
func (w *Writer) look() error {
	now := pace.Now()
	if now-w.looked < lookEvery {
		return nil
	}
	w.looked = now
	if err := w.sentinel.running(); err != nil {
		return err
	}
	s, err := statistics(w.sock.fd)
	if err == nil && s.Tx_invalid_descs > w.voided {
		err = fmt.Errorf("kernel refused %d frames as not lying in the memory shared with it", s.Tx_invalid_descs-w.voided)
	}
	return err
}

// Close waits for frames under way, at most a second, and gives everything back.
func (w *Writer) Close() error {
	var errs []error
	if w.pool.addrs != nil && w.complete.producer != nil {
		for b, start := (backoff{}), pace.Now(); w.pool.free() < len(w.pool.addrs) && pace.Now()-start < int64(leave); _ = b.wait() {
			w.complete.reap(&w.pool)
		}
	}
	if w.program != nil {
		errs = append(errs, w.program.close())
	}
	if w.sock != nil {
		errs = append(errs, w.sock.close())
	}
	if w.owner != nil {
		errs = append(errs, w.owner.close())
	}
	if w.umem != nil {
		errs = append(errs, w.umem.release())
	}
	if w.sentinel != nil {
		errs = append(errs, w.sentinel.close())
	}
	w.program, w.sock, w.owner, w.umem, w.sentinel, w.slots, w.pool = nil, nil, nil, nil, nil, nil, pool{}
	return errors.Join(errs...)
}
