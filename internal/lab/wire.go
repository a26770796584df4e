package lab

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
)

// The router's addresses have no subnet: the kernel then keeps no broadcast
// or subnet anycast address, and forwards frames for those like any others.
var (
	hostA4     = netip.MustParsePrefix("198.18.0.1/24")
	routerIn4  = netip.MustParsePrefix("198.18.0.254/32")
	routerOut4 = netip.MustParsePrefix("198.18.1.254/32")
	hostB4     = netip.MustParsePrefix("198.18.1.1/24")

	hostA6     = netip.MustParsePrefix("2001:2::1/64")
	routerIn6  = netip.MustParsePrefix("2001:2::254/128")
	routerOut6 = netip.MustParsePrefix("2001:2:0:1::254/128")
	hostB6     = netip.MustParsePrefix("2001:2:0:1::1/64")

	all4 = netip.MustParsePrefix("0.0.0.0/0")
	all6 = netip.MustParsePrefix("::/0")
)

// mac is a unicast address with the locally administered bit (IEEE 802
// section 8.2).
func mac(last byte) net.HardwareAddr { return net.HardwareAddr{0x02, 0x73, 0x71, 0x6c, 0x00, last} }

// wire sets the three namespaces up and connects them.
func (l *Lab) wire(cfg Config) error {
	for _, ns := range [...]*netns.NS{l.a, l.r, l.b} {
		if err := prepare(ns, ns == l.r); err != nil {
			return err
		}
	}
	if err := cable(l.In, l.VA, cfg); err != nil {
		return err
	}
	if err := cable(l.Out, l.VB, cfg); err != nil {
		return err
	}
	// Not before the cables: an interface made while IPv6 forwarding is on
	// joins the group of routers before it can be told not to.
	if err := l.r.Do(func() error { return sysctl("net/ipv6/conf/all/forwarding", "1") }); err != nil {
		return err
	}
	for _, side := range [...]struct{ host, router, far End }{
		{l.VA, l.In, l.Out}, {l.VB, l.Out, l.In},
	} {
		if err := side.host.NS.Do(func() error { return host(side.host, side.router, side.far) }); err != nil {
			return err
		}
		if err := side.router.NS.Do(func() error { return router(side.router, side.host) }); err != nil {
			return err
		}
	}
	// Each way needs both sides: the gateway must be known before its route.
	return l.r.Do(func() error {
		if err := across(l.In, l.Out, l.VB, 1); err != nil {
			return err
		}
		return across(l.Out, l.In, l.VA, 2)
	})
}

// cable makes one veth pair and sets both ends up.
func cable(here, there End, cfg Config) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr, attrs.MTU = here.Iface, here.MAC, cfg.MTU
	attrs.NumTxQueues, attrs.NumRxQueues = cfg.Queues, cfg.Queues
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerHardwareAddr = there.Iface, there.MAC
	veth.PeerNamespace = netlink.NsFd(there.NS.FD())
	if err := here.NS.Do(func() error { return netlink.LinkAdd(veth) }); err != nil {
		return fmt.Errorf("veth pair %q and %q: %w", here.Label(), there.Label(), err)
	}
	for _, e := range [...]End{here, there} {
		if err := e.NS.Do(func() error { return raise(e.Iface) }); err != nil {
			return fmt.Errorf("interface %q: %w", e.Label(), err)
		}
	}
	// Only now that both ends are up: veth tells the other end that it takes
	// redirected frames when GRO is turned on, and not if that end is down then
	// (veth_set_features, veth_napi_enable of drivers/net/veth.c).
	for _, e := range [...]End{here, there} {
		if err := e.NS.Do(func() error { return gro(e.Iface, cfg.GRO) }); err != nil {
			return fmt.Errorf("interface %q: rx-gro: %w", e.Label(), err)
		}
	}
	return nil
}

func gro(iface string, on bool) error {
	et, err := ethtool.NewEthtool()
	if err != nil {
		return err
	}
	defer et.Close()
	return et.Change(iface, map[string]bool{"rx-gro": on})
}

// raise makes an interface quiet and brings it up. Without IFF_NOARP it would
// join the solicited-node group of each address, without clearing
// IFF_MULTICAST the groups of routers, and report both (net/ipv6/addrconf.c).
func raise(iface string) error {
	link, err := netlink.LinkByName(iface)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetARPOff(link); err != nil {
		return fmt.Errorf("arp off: %w", err)
	}
	if err := netlink.LinkSetMulticastOff(link); err != nil {
		return fmt.Errorf("multicast off: %w", err)
	}
	return netlink.LinkSetUp(link)
}

// host gives a host its addresses, its neighbour and the way to the far side.
// The way is not a default route: nothing else is to leave by a test port.
func host(e, gateway, far End) error {
	index, err := addresses(e)
	if err != nil {
		return err
	}
	for _, f := range families(e, gateway, far) {
		if err := neighbour(index, f.b.Addr(), gateway.MAC); err != nil {
			return err
		}
		// The far host's subnet is the router's far address, widened.
		dst := netip.PrefixFrom(f.c.Addr(), f.a.Bits()).Masked()
		if err := route(index, dst, f.b.Addr(), unix.RT_TABLE_MAIN); err != nil {
			return err
		}
	}
	return nil
}

// router gives the router its addresses on one side and its only neighbour
// there, through which it reaches the rest of the subnet.
func router(e, other End) error {
	index, err := addresses(e)
	if err != nil {
		return err
	}
	for _, f := range families(e, other, other) {
		if err := neighbour(index, f.b.Addr(), other.MAC); err != nil {
			return err
		}
		only := netip.PrefixFrom(f.b.Addr(), f.b.Addr().BitLen())
		if err := route(index, only, netip.Addr{}, unix.RT_TABLE_MAIN); err != nil {
			return err
		}
		if err := route(index, f.b.Masked(), f.b.Addr(), unix.RT_TABLE_MAIN); err != nil {
			return err
		}
	}
	return nil
}

// across sends all that comes in on one side to the neighbour on the other, by
// a routing table of its own (ip-rule(8)).
func across(from, to, other End, table int) error {
	link, err := netlink.LinkByName(to.Iface)
	if err != nil {
		return err
	}
	for _, f := range families(to, other, other) {
		all, family := all4, netlink.FAMILY_V4
		if f.b.Addr().Is6() {
			all, family = all6, netlink.FAMILY_V6
		}
		if err := route(link.Attrs().Index, all, f.b.Addr(), table); err != nil {
			return err
		}
		rule := netlink.NewRule()
		rule.Family, rule.IifName, rule.Table, rule.Priority = family, from.Iface, table, 100
		if err := netlink.RuleAdd(rule); err != nil {
			return fmt.Errorf("routing rule for %q: %w", from.Label(), err)
		}
	}
	return nil
}

// family is the prefixes of three ends in one IP version.
type family struct{ a, b, c netip.Prefix }

func families(a, b, c End) []family {
	out := []family{{a.IPv4, b.IPv4, c.IPv4}}
	if a.IPv6.IsValid() {
		out = append(out, family{a.IPv6, b.IPv6, c.IPv6})
	}
	return out
}

func addresses(e End) (index int, err error) {
	link, err := netlink.LinkByName(e.Iface)
	if err != nil {
		return 0, fmt.Errorf("interface %q: %w", e.Label(), err)
	}
	for _, f := range families(e, e, e) {
		addr := &netlink.Addr{IPNet: ipNet(f.a)}
		if f.a.Addr().Is6() {
			addr.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			return 0, fmt.Errorf("address %s of %q: %w", f.a, e.Label(), err)
		}
		if err := settled(f.a.Addr()); err != nil {
			return 0, fmt.Errorf("address %s of %q: %w", f.a, e.Label(), err)
		}
	}
	return link.Attrs().Index, nil
}

// settled waits until frames for an address of our own are taken. The kernel
// makes an IPv6 address usable on a work queue, without DAD too
// (addrconf_dad_work); until then its first frames would be lost.
func settled(ip netip.Addr) error {
	const patience = 10 * time.Second
	for start := time.Now(); time.Since(start) < patience; time.Sleep(time.Millisecond) {
		routes, err := netlink.RouteGet(ip.AsSlice())
		if err == nil && len(routes) == 1 && routes[0].Type == unix.RTN_LOCAL {
			return nil
		}
	}
	return fmt.Errorf("not usable within %s", patience)
}

func neighbour(index int, ip netip.Addr, mac net.HardwareAddr) error {
	err := netlink.NeighAdd(&netlink.Neigh{
		LinkIndex: index, IP: ip.AsSlice(), HardwareAddr: mac, State: netlink.NUD_PERMANENT,
	})
	if err != nil {
		return fmt.Errorf("neighbour %s: %w", ip, err)
	}
	return nil
}

func route(index int, dst netip.Prefix, gateway netip.Addr, table int) error {
	r := &netlink.Route{LinkIndex: index, Dst: ipNet(dst), Table: table}
	if gateway.IsValid() {
		r.Gw = gateway.AsSlice()
	} else {
		r.Scope = netlink.SCOPE_LINK
	}
	if err := netlink.RouteAdd(r); err != nil {
		return fmt.Errorf("route to %s: %w", dst, err)
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
