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
	return capable()
}

// capable reports whether the calling thread has the capabilities
// (capabilities(7)); CAP_SYS_ADMIN stands in for CAP_BPF.
func capable() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData // 64 bits in two halves
	if err := unix.Capget(&head, &data[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	has := func(c int) bool { return data[c/32].Effective&(1<<(c%32)) != 0 }
	if !has(unix.CAP_NET_ADMIN) || !has(unix.CAP_BPF) && !has(unix.CAP_SYS_ADMIN) {
		return fmt.Errorf("%w: need CAP_BPF and CAP_NET_ADMIN, run as root", port.ErrCapability)
	}
	return nil
}
