package xdpmeter

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/port"
)

// linkBack is how long a driver may take to bring its link up again after it was
// given a program.
const linkBack = 10 * time.Second

// attach puts the program on the port, by a link: it is off again when the link's
// descriptor is closed, by whatever end of the process.
func (m *Meter) attach(p *port.Port, generic bool) error {
	before := p.CheckLink()
	options := link.XDPOptions{Program: m.objects.SquallMeter, Interface: p.Index, Flags: link.XDPDriverMode}
	if generic {
		options.Flags = link.XDPGenericMode
	}
	// The kernel looks the interface up in the namespace of the caller.
	err := p.NS.Do(func() (err error) {
		if m.link, err = link.AttachXDP(options); err != nil {
			return explain(err)
		}
		m.mode, err = modeOf(p.Index)
		return err
	})
	if err != nil {
		return err
	}
	if want := options.Flags; want == link.XDPGenericMode && m.mode != Generic || want == link.XDPDriverMode && m.mode != Native {
		return fmt.Errorf("XDP program: is in %s mode", m.mode)
	}
	for end := time.Now().Add(linkBack); before == nil; time.Sleep(20 * time.Millisecond) {
		err := p.CheckLink()
		if err == nil {
			break
		}
		if !errors.Is(err, port.ErrLink) || time.Now().After(end) {
			return fmt.Errorf("after attaching an XDP program: %w", err)
		}
	}
	return nil
}

// modeOf asks the kernel in which mode an interface of the calling thread's
// namespace has its program: IFLA_XDP_ATTACHED of linux/if_link.h.
func modeOf(index int) (Mode, error) {
	l, err := netlink.LinkByIndex(index)
	if err != nil {
		return 0, err
	}
	if x := l.Attrs().Xdp; x != nil && x.Attached {
		return Mode(x.AttachMode), nil
	}
	return 0, errors.New("XDP program: the kernel does not show it on the interface")
}

// explain says what to do about a refusal.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("XDP program: the interface has another one, see ip link and bpftool net: %w", err)
	case errors.Is(err, unix.ERANGE):
		return fmt.Errorf("XDP program: the MTU of the interface, or of a veth's other end, is too large: %w", err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("XDP program: the driver takes none; generic mode does without its help: %w", err)
	}
	return fmt.Errorf("XDP program: %w", err)
}

// severalBuffers reports whether a program may have been refused since frames of
// the interface's MTU need more than one buffer: veth says ERANGE, other drivers
// EINVAL or EOPNOTSUPP.
func severalBuffers(err error) bool {
	return errors.Is(err, unix.ERANGE) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP)
}
