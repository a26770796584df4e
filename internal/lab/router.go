package lab

import (
	"strings"

	"squall/internal/netns"
	"squall/internal/probe"
)

// Router is the router of a named lab, as another process finds it.
type Router struct {
	NS      *netns.NS
	In, Out string // interfaces, on the way that was asked for
}

// Between returns the router between two namespaces where they are the hosts of a
// named lab, in either direction, and nil where they are not. The caller closes
// its NS.
func Between(from, to string) *Router {
	r := &Router{In: "in", Out: "out"}
	name, ok := strings.CutSuffix(from, "-a")
	if !ok {
		if name, ok = strings.CutSuffix(from, "-b"); !ok {
			return nil
		}
		r.In, r.Out = r.Out, r.In
	}
	if to == from || strings.TrimSuffix(strings.TrimSuffix(to, "-a"), "-b") != name || name == "" {
		return nil
	}
	ns, err := netns.Open(name + "-r")
	if err != nil {
		return nil
	}
	r.NS = ns
	return r
}

// Probes returns the readers of the router's counters.
func (r *Router) Probes() []probe.Probe {
	return routerProbes(r.NS, r.In, r.Out)
}

func routerProbes(ns *netns.NS, in, out string) []probe.Probe {
	return []probe.Probe{
		probe.Link{NS: ns, Iface: in},
		probe.Ethtool{NS: ns, Iface: in},
		probe.Link{NS: ns, Iface: out},
		probe.Ethtool{NS: ns, Iface: out},
		probe.Qdisc{NS: ns, Iface: out},
		probe.IP{NS: ns},
	}
}
