package packet

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"squall/internal/port"
)

// capability is what packet(7) asks of the process.
const capability = "CAP_NET_RAW"

// socket is an AF_PACKET socket bound to a port.
type socket struct {
	port *port.Port
	fd   int
	ifr  unix.Ifreq
}

// open makes the socket in the port's namespace. It receives frames of the
// EtherType, none for 0, and those that the filter lets through.
//
// The descriptor is taken out of the connection that opened it, which is closed:
// the Go runtime has that one in its epoll set, and the kernel would wake it for
// every frame that leaves the send buffer (sock_def_write_space of
// net/core/sock.c), at the cost of a fifth of all frames.
func open(p *port.Port, etherType int, filter []bpf.RawInstruction, promiscuous bool) (*socket, error) {
	s := &socket{port: p, fd: -1}
	err := p.NS.Do(func() error {
		conn, err := packet.Listen(&net.Interface{Index: p.Index}, packet.Raw, etherType, &packet.Config{Filter: filter})
		if err != nil {
			return err
		}
		defer conn.Close()
		if promiscuous { // for as long as the socket lives
			if err := conn.SetPromiscuous(true); err != nil {
				return err
			}
		}
		raw, err := conn.SyscallConn()
		if err != nil {
			return err
		}
		var dup error
		err = raw.Control(func(fd uintptr) { s.fd, dup = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
		return errors.Join(err, os.NewSyscallError("fcntl", dup))
	})
	if err != nil {
		return nil, errors.Join(s.explain(err), s.close())
	}
	return s, nil
}

// close closes the socket, once.
func (s *socket) close() error {
	fd := s.fd
	if s.fd = -1; fd < 0 {
		return nil
	}
	return os.NewSyscallError("close", unix.Close(fd))
}

func (s *socket) explain(err error) error { return s.port.Ref.Explain(err, capability) }

// set sets an option of packet(7).
func (s *socket) set(option, value int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(s.fd, unix.SOL_PACKET, option, value))
}

// poll waits until one of the events, an error of the socket or the time has
// come, whichever is first, and returns what did; 0 also after a signal.
func (s *socket) poll(events int16, wait time.Duration) (int16, error) {
	fds := [1]unix.PollFd{{Fd: int32(s.fd), Events: events}}
	ts := unix.NsecToTimespec(max(0, int64(wait)))
	_, err := unix.Ppoll(fds[:], &ts, nil)
	if err != nil && err != unix.EINTR {
		return 0, os.NewSyscallError("ppoll", err)
	}
	return fds[0].Revents, nil
}

// pending returns the socket's pending error, once.
func (s *socket) pending() error {
	n, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && n != 0 {
		err = unix.Errno(n)
	}
	return err
}

// running returns an error where the interface is gone, is down or has no
// carrier. Mostly it asks only for the flags of netdevice(7), which takes no
// lock of the kernel. They may be a second behind (net/core/link_watch.c), so
// before it says no it asks the port.
func (s *socket) running() error {
	s.ifr.SetUint32(uint32(s.port.Index))
	if unix.IoctlIfreq(s.fd, unix.SIOCGIFNAME, &s.ifr) == nil &&
		unix.IoctlIfreq(s.fd, unix.SIOCGIFFLAGS, &s.ifr) == nil &&
		s.ifr.Uint16()&unix.IFF_RUNNING != 0 {
		return nil
	}
	return s.port.CheckLink()
}
