package xdp

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"squall/internal/port"
)

// socket is an AF_XDP socket with those of its rings that this process has
// mapped. Its mappings hold the kernel's socket, and with it the queue, as its
// descriptor does.
type socket struct {
	fd    int
	off   unix.XDPMmapOffsets
	rings [][]byte
	users atomic.Int32
}

// newSocket makes a socket in the port's namespace.
func newSocket(p *port.Port) (*socket, error) {
	s := &socket{fd: -1}
	err := p.NS.Do(func() (err error) {
		s.fd, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		return os.NewSyscallError("AF_XDP socket", err)
	})
	if err != nil {
		return nil, err
	}
	s.hold()
	if s.off, err = offsets(s.fd); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *socket) tx(n int) (r txRing, err error) {
	var mem []byte
	r.ring, r.entries, mem, err = mapRing[unix.XDPDesc](s.fd, unix.XDP_TX_RING, unix.XDP_PGOFF_TX_RING, s.off.Tx, n)
	return r, s.keep("TX", mem, err)
}

func (s *socket) rx(r *rxRing, n int) (err error) {
	var mem []byte
	r.ring, r.entries, mem, err = mapRing[unix.XDPDesc](s.fd, unix.XDP_RX_RING, unix.XDP_PGOFF_RX_RING, s.off.Rx, n)
	return s.keep("RX", mem, err)
}

func (s *socket) fill(n int) (r fillRing, err error) {
	var mem []byte
	r.ring, r.entries, mem, err = mapRing[uint64](s.fd, unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_PGOFF_FILL_RING, s.off.Fr, n)
	return r, s.keep("fill", mem, err)
}

func (s *socket) completion(n int) (r completionRing, err error) {
	var mem []byte
	r.ring, r.entries, mem, err = mapRing[uint64](s.fd, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_UMEM_PGOFF_COMPLETION_RING, s.off.Cr, n)
	return r, s.keep("completion", mem, err)
}

func (s *socket) keep(name string, mem []byte, err error) error {
	if err != nil {
		return fmt.Errorf("%s ring: %w", name, err)
	}
	s.rings = append(s.rings, mem)
	return nil
}

// release is how long the kernel may take to free a queue whose socket was
// closed: it does so on a work queue (xp_put_pool of net/xdp/xsk_buff_pool.c).
const release = time.Second

// bind connects the socket to a queue of the port: with flags for memory of its
// own, or with that of another socket. Whether that is zero-copy is asked
// afterwards.
func (s *socket) bind(p *port.Port, queue int, flags uint16, shared *socket) error {
	addr := &unix.SockaddrXDP{Flags: flags, Ifindex: uint32(p.Index), QueueID: uint32(queue)}
	if shared != nil {
		addr.Flags, addr.SharedUmemFD = unix.XDP_SHARED_UMEM, uint32(shared.fd)
	}
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		err := unix.Bind(s.fd, addr)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EBUSY) && time.Since(start) < release:
			continue
		case errors.Is(err, unix.EBUSY):
			return fmt.Errorf("queue %d has another AF_XDP socket, end its program: %w", queue, os.NewSyscallError("bind", err))
		}
		return fmt.Errorf("queue %d: %w", queue, os.NewSyscallError("bind", err))
	}
}

// zeroCopy asks the kernel how the socket was bound.
func (s *socket) zeroCopy() (bool, error) {
	o, err := options(s.fd)
	return o&unix.XDP_OPTIONS_ZEROCOPY != 0, err
}

// send has the kernel look at the TX ring, and in copy mode send from it.
// Syscall, not RawSyscall: the garbage collector must not wait for it.
func (s *socket) send() unix.Errno {
	_, _, errno := unix.Syscall6(unix.SYS_SENDTO, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	return errno
}

// refill has a driver in zero-copy mode look at the fill ring. That it cannot
// just now is no error: it will be asked again.
func (s *socket) refill() {
	_, _, _ = unix.Syscall6(unix.SYS_RECVFROM, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
}

// hold has close wait for one more user.
func (s *socket) hold() *socket {
	s.users.Add(1)
	return s
}

func (s *socket) close() error {
	if s.users.Add(-1) > 0 {
		return nil
	}
	var errs []error
	for _, m := range s.rings {
		errs = append(errs, os.NewSyscallError("munmap", unix.Munmap(m)))
	}
	s.rings = nil
	return errors.Join(append(errs, os.NewSyscallError("close", unix.Close(s.fd)))...)
}
