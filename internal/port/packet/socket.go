package packet

import (
	"net"
	"os"
	"syscall"
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
	conn *packet.Conn
	raw  syscall.RawConn
	// fd is conn's, for calls that the owner of the engine makes between open
	// and close: no other goroutine closes conn under it.
	fd  int
	ifr unix.Ifreq
}

// open makes the socket in the port's namespace. It receives frames of the
// EtherType, none for 0, and those that the filter lets through.
func open(p *port.Port, etherType int, filter []bpf.RawInstruction) (*socket, error) {
	s := &socket{port: p}
	err := p.NS.Do(func() (err error) {
		s.conn, err = packet.Listen(&net.Interface{Index: p.Index}, packet.Raw, etherType, &packet.Config{Filter: filter})
		return err
	})
	if err != nil {
		return nil, s.explain(err)
	}
	s.raw, err = s.conn.SyscallConn()
	if err == nil {
		err = s.raw.Control(func(fd uintptr) { s.fd = int(fd) })
	}
	if err != nil {
		s.conn.Close()
		return nil, s.explain(err)
	}
	return s, nil
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
