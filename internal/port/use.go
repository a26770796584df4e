package port

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
)

// use is what the network stack of one namespace uses its interfaces for, by
// interface index.
type use struct {
	links    []netlink.Link
	defaults map[int]bool // a default route goes out there
	addrs    map[int][]netip.Prefix
	global   map[int]bool // has a global address
}

// readUse reads it for the calling thread's namespace.
func readUse() (*use, error) {
	u := &use{defaults: map[int]bool{}, addrs: map[int][]netip.Prefix{}, global: map[int]bool{}}
	var err error
	if u.links, err = netlink.LinkList(); err != nil {
		return nil, fmt.Errorf("interfaces: %w", err)
	}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		// Any table: RT_TABLE_UNSPEC asks for all of them.
		routes, err := netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_UNSPEC}, netlink.RT_FILTER_TABLE)
		if err != nil {
			return nil, fmt.Errorf("routes: %w", err)
		}
		for _, r := range routes {
			u.addRoute(r)
		}
		addrs, err := netlink.AddrList(nil, family)
		if err != nil {
			return nil, fmt.Errorf("addresses: %w", err)
		}
		for _, a := range addrs {
			u.addAddr(a)
		}
	}
	return u, nil
}

func (u *use) addRoute(r netlink.Route) {
	if r.Type != unix.RTN_UNICAST { // blackhole, unreachable, ...
		return
	}
	if r.Dst != nil {
		if ones, _ := r.Dst.Mask.Size(); ones != 0 {
			return
		}
	}
	if r.LinkIndex != 0 {
		u.defaults[r.LinkIndex] = true
	}
	for _, hop := range r.MultiPath {
		u.defaults[hop.LinkIndex] = true
	}
}

func (u *use) addAddr(a netlink.Addr) {
	ip, ok := netip.AddrFromSlice(a.IP)
	if !ok {
		return
	}
	ones, _ := a.Mask.Size()
	u.addrs[a.LinkIndex] = append(u.addrs[a.LinkIndex], netip.PrefixFrom(ip.Unmap(), ones))
	if a.Scope == unix.RT_SCOPE_UNIVERSE && !ip.IsLoopback() {
		u.global[a.LinkIndex] = true
	}
}

// management returns why each interface that the machine is reached by is one.
func (u *use) management() map[int]string {
	why := map[int]string{}
	for index := range u.defaults {
		u.below(index, "carries the default route", "", why)
	}
	if len(u.global) == 1 {
		for index := range u.global {
			u.below(index, "has the machine's only global address", "", why)
		}
	}
	return why
}

// below enters the reason for an interface and for those it stands on: the ports
// of a bridge or bond, what a VLAN or a tunnel goes out of.
func (u *use) below(index int, reason, through string, why map[int]string) {
	if _, done := why[index]; done {
		return
	}
	why[index] = reason
	if through != "" {
		why[index] = fmt.Sprintf("%s (through %s)", reason, through)
	}
	for _, l := range u.links {
		a := l.Attrs()
		switch {
		case a.MasterIndex == index:
			u.below(a.Index, reason, u.name(index), why)
		// IFLA_LINK; a veth's is its peer, and NetNsID that of another namespace.
		case a.Index == index && a.ParentIndex > 0 && a.NetNsID < 0 && l.Type() != "veth":
			u.below(a.ParentIndex, reason, a.Name, why)
		}
	}
}

func (u *use) name(index int) string {
	for _, l := range u.links {
		if l.Attrs().Index == index {
			return l.Attrs().Name
		}
	}
	return ""
}

// home reports whether ns is the namespace that squall runs in, or the machine's
// own (that of its first process). Others are lab territory.
func home(ns *netns.NS) bool {
	if ns == nil || ns.Same(nil) {
		return true
	}
	first, err := netns.Open("/proc/1/ns/net")
	if err != nil {
		return false // not to be seen, so not to be sent into either
	}
	defer first.Close()
	return ns.Same(first)
}
