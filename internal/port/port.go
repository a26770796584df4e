package port

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strings"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
)

// Port is a network interface as it was when it was opened.
type Port struct {
	Ref   Ref
	NS    *netns.NS // nil: this process's own
	Index int
	MAC   net.HardwareAddr
	MTU   int // longest payload in bytes, without Ethernet header
	// Up: it was set up. Carrier: it is up and sees a link.
	Up, Carrier bool
	// LinkBits is the speed of the link in bits a second; 0: the driver does
	// not say. (A veth says 10 Gbit/s, which is not a limit.)
	LinkBits uint64
	// Management says why squall does not send into this port unless told to;
	// empty for a port it may use. See [Port.RefuseManagement].
	Management string
}

// Open looks a port up. The error for a namespace or an interface that does not
// exist lists those that do. A port of another namespace needs CAP_SYS_ADMIN.
func Open(ref Ref) (*Port, error) {
	ns, err := enter(ref.NetNS)
	if err != nil {
		return nil, ref.Explain(err, "CAP_SYS_ADMIN")
	}
	return open(ref, ns)
}

// open looks the port up in ns, which it takes over.
func open(ref Ref, ns *netns.NS) (*Port, error) {
	p := &Port{Ref: ref, NS: ns}
	atHome := home(ns)
	if err := ns.Do(func() error { return p.read(atHome) }); err != nil {
		return nil, errors.Join(ref.Explain(err, "CAP_SYS_ADMIN"), ns.Close())
	}
	return p, nil
}

// enter opens a namespace. The process's own needs no handle, and no right to
// enter it.
func enter(name string) (*netns.NS, error) {
	if name == "" {
		return nil, nil
	}
	return netns.Open(name)
}

func (p *Port) read(atHome bool) error {
	u, err := readUse()
	if err != nil {
		return err
	}
	var a *netlink.LinkAttrs
	var names []string
	for _, l := range u.links {
		names = append(names, l.Attrs().Name)
		if l.Attrs().Name == p.Ref.Iface {
			a = l.Attrs()
		}
	}
	if a == nil {
		return fmt.Errorf("no such interface, have %s", strings.Join(names, ", "))
	}
	p.Index, p.MAC, p.MTU = a.Index, a.HardwareAddr, a.MTU
	p.Up, p.Carrier = up(a), carrier(a)
	et, err := ethtool.NewEthtool()
	if err != nil {
		return err
	}
	defer et.Close()
	p.LinkBits = speed(et, a.Name)
	if atHome {
		p.Management = u.management()[a.Index]
	}
	return nil
}

// CheckLink asks the kernel how the port is now. The error matches [ErrLink]
// where it is down or has no carrier and [ErrGone] where it was deleted. The
// question waits for the kernel's rtnl lock, which a driver may hold for seconds
// while it resets its card.
func (p *Port) CheckLink() error {
	err := p.NS.Do(func() error {
		l, err := netlink.LinkByIndex(p.Index)
		switch {
		case errors.As(err, &netlink.LinkNotFoundError{}):
			return unix.ENODEV
		case err == nil && !carrier(l.Attrs()):
			return unix.ENETDOWN
		}
		return err
	})
	return p.Ref.Explain(err, "CAP_SYS_ADMIN")
}

// up and carrier read the flags of netdevice(7). The kernel shows LOWER_UP only
// where the port is up.
func up(a *netlink.LinkAttrs) bool      { return a.RawFlags&unix.IFF_UP != 0 }
func carrier(a *netlink.LinkAttrs) bool { return a.RawFlags&unix.IFF_LOWER_UP != 0 }

// speed returns the link's speed in bits a second, or 0. It asks by
// ETHTOOL_GSET, which the kernel answers for drivers new and old (the library's
// newer question prints warnings).
func speed(et *ethtool.Ethtool, iface string) uint64 {
	const unknown = math.MaxUint32 // SPEED_UNKNOWN
	mbit, err := et.CmdGet(&ethtool.EthtoolCmd{}, iface)
	if err != nil || mbit == unknown {
		return 0
	}
	return uint64(mbit) * 1_000_000
}

// RefuseManagement returns an error for a port that the machine is reached by: a
// sending command gives up with it unless it was told --allow-management.
//
// The rule: in the namespace that squall runs in and in the machine's own, a port
// is refused if a default route goes out of it (in any table, IPv4 or IPv6, also
// by way of a bridge, bond, VLAN or tunnel on top of it), or if it alone has a
// global address.
func (p *Port) RefuseManagement() error {
	if p.Management == "" {
		return nil
	}
	return fmt.Errorf("port %q %s: a storm into it, or a program on it, may cut this machine off; --allow-management does it all the same", p.Ref, p.Management)
}

// Close gives up the handle on the namespace.
func (p *Port) Close() error { return p.NS.Close() }
