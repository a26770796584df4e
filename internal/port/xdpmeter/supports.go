package xdpmeter

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"squall/internal/port"
)

// singleBuffer is the largest MTU whose frames veth takes in one buffer of 4,096
// bytes (drivers/net/veth.c, veth_xdp_set); other drivers' limits are near it, or
// below.
const singleBuffer = 3506

// Supports returns nil where this process could count on the port in native mode,
// now and as far as can be told without trying, else why not. Generic mode needs
// no more than an Ethernet interface and the capabilities.
func Supports(i port.Info) error {
	switch {
	case i.LinkType != "ether":
		return fmt.Errorf("link type %q, need Ethernet", i.LinkType)
	case !i.Up:
		return fmt.Errorf("%w: set it up with ip link", port.ErrLink)
	case !i.XDP.Known:
		return errors.New("the kernel does not say which drivers take XDP programs: need Linux 6.3")
	case !i.XDP.Basic:
		return fmt.Errorf("driver %q takes no XDP programs", i.Driver)
	case i.MTU > singleBuffer && !i.XDP.Frags:
		return fmt.Errorf("MTU %d, and driver %q gives XDP programs no frames of several buffers: need at most %d", i.MTU, i.Driver, singleBuffer)
	}
	return port.Capable(unix.CAP_NET_ADMIN, unix.CAP_BPF)
}
