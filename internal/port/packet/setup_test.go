package packet_test

import (
	"os"
	"testing"

	"github.com/vishvananda/netlink"

	"squall/internal/netns"
	"squall/internal/port"
)

// pair is a veth pair, each end in a namespace of its own, without IPv6, so that
// nothing but the test sends.
type pair struct {
	a, b *end
}

type end struct {
	ns   *netns.NS
	name string
}

func newPair(t testing.TB) pair {
	t.Helper()
	p := pair{a: &end{newNS(t), "va"}, b: &end{newNS(t), "vb"}}
	p.a.do(t, func() error {
		veth := netlink.NewVeth(netlink.NewLinkAttrs())
		veth.Name, veth.PeerName = p.a.name, p.b.name
		veth.PeerNamespace = netlink.NsFd(p.b.ns.FD())
		return netlink.LinkAdd(veth)
	})
	p.a.up(t)
	p.b.up(t)
	return p
}

func newNS(t testing.TB) *netns.NS {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW")
	}
	ns, err := netns.New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	err = ns.Do(func() error {
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return ns
}

func (e *end) do(t testing.TB, fn func() error) {
	t.Helper()
	if err := e.ns.Do(fn); err != nil {
		t.Fatal(err)
	}
}

// change does something to the interface.
func (e *end) change(t testing.TB, fn func(netlink.Link) error) {
	t.Helper()
	e.do(t, func() error {
		l, err := netlink.LinkByName(e.name)
		if err != nil {
			return err
		}
		return fn(l)
	})
}

func (e *end) up(t testing.TB)   { t.Helper(); e.change(t, netlink.LinkSetUp) }
func (e *end) down(t testing.TB) { t.Helper(); e.change(t, netlink.LinkSetDown) }

// link reads the interface's attributes.
func (e *end) link(t testing.TB) *netlink.LinkAttrs {
	t.Helper()
	var a *netlink.LinkAttrs
	e.change(t, func(l netlink.Link) error {
		a = l.Attrs()
		return nil
	})
	return a
}

func (e *end) open(t testing.TB) *port.Port {
	t.Helper()
	p, err := port.Open(port.Ref{NetNS: e.ns.Path(), Iface: e.name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}
