package xdp

import (
	"errors"
	"net"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"squall/internal/port"
)

// sentinel is an AF_PACKET socket that receives nothing and tells what an AF_XDP
// socket does not: when its port goes down or away, it has an error; as long as
// it is open, the port is promiscuous if asked for, however the process ends.
type sentinel struct {
	port *port.Port
	conn *packet.Conn
	fd   int
	ifr  unix.Ifreq
}

// noFrame is an EtherType that IEEE has reserved: nobody sends it.
const noFrame = 0xffff

func newSentinel(p *port.Port, promiscuous bool) (*sentinel, error) {
	s := &sentinel{port: p}
	err := p.NS.Do(func() (err error) {
		s.conn, err = packet.Listen(&net.Interface{Index: p.Index}, packet.Raw, noFrame, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	raw, err := s.conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { s.fd = int(fd) })
	}
	if err == nil && promiscuous {
		err = s.conn.SetPromiscuous(true)
	}
	if err != nil {
		return nil, errors.Join(err, s.conn.Close())
	}
	return s, nil
}

// running returns an error where the interface is gone, is down or has no
// carrier. Mostly it asks only for the flags of netdevice(7), which takes no
// lock of the kernel. They may be a second behind (net/core/link_watch.c), so
// before it says no it asks the port.
func (s *sentinel) running() error {
	s.ifr.SetUint32(uint32(s.port.Index))
	if unix.IoctlIfreq(s.fd, unix.SIOCGIFNAME, &s.ifr) == nil &&
		unix.IoctlIfreq(s.fd, unix.SIOCGIFFLAGS, &s.ifr) == nil &&
		s.ifr.Uint16()&unix.IFF_RUNNING != 0 {
		return nil
	}
	return s.port.CheckLink()
}

// pending returns why the socket has an error, once.
func (s *sentinel) pending() error {
	n, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil || n == 0 {
		return err
	}
	// A deleted interface says ENETDOWN too.
	if err := s.port.CheckLink(); err != nil {
		return err
	}
	return unix.Errno(n)
}

func (s *sentinel) close() error { return s.conn.Close() }
