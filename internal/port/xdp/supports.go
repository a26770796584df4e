package xdp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"squall/internal/port"
)

// longestReceived is the longest frame that a Reader takes, in bytes without
// FCS: a page less what the kernel keeps free before a frame.
const longestReceived = largeChunk - headroom

// Supports returns nil where this process could send through the port with this
// engine, now and as far as can be told without trying, else why not. Every
// driver will do: one without AF_XDP of its own is driven by copies.
func Supports(i port.Info) error {
	return errors.Join(usable(i), port.Capable(unix.CAP_NET_RAW))
}

// SupportsReader is Supports for receiving. Where the driver has no XDP the
// kernel runs the program before the stack, which is right and slow.
func SupportsReader(i port.Info) error {
	err := errors.Join(usable(i), port.Capable(unix.CAP_NET_RAW, unix.CAP_NET_ADMIN, unix.CAP_BPF))
	if i.XDP.Known && i.XDP.Basic && !i.XDP.Redirect {
		err = errors.Join(err, errors.New("driver has XDP without XDP_REDIRECT"))
	}
	return errors.Join(err, fits(i.MTU))
}

func usable(i port.Info) error {
	if i.LinkType != "ether" {
		return fmt.Errorf("link type %q, need Ethernet", i.LinkType)
	}
	if !i.Up {
		return fmt.Errorf("%w: set it up with ip link", port.ErrLink)
	}
	return nil
}

// fits reports an MTU whose frames are longer than what a Reader takes.
func fits(mtu int) error {
	if frameLen(mtu) <= longestReceived {
		return nil
	}
	return fmt.Errorf("MTU %d, need at most %d: a received frame has to lie in one page; lower it with ip link", mtu, longestReceived-frameLen(0))
}
