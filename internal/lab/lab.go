package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"

	"squall/internal/netns"
	"squall/internal/probe"
)

// Config says how a lab or pair is made. The zero value is a good one.
type Config struct {
	// Name, if not empty, puts the namespaces under /run/netns as NAME-a,
	// NAME-r and NAME-b, for ip netns exec and for other processes.
	Name string
	// Queues of each veth end, in each direction; default 1, at most 4096.
	Queues int
	// MTU of each veth end in bytes; default 1500, 1280 (the least that IPv6
	// takes, RFC 8200 section 5) to 65535.
	MTU int
	// GRO turns generic receive offload on at each veth end. The end then
	// receives by NAPI, as it must for frames sent by XDP to arrive; segments
	// of one TCP connection may be merged on their way through the router.
	GRO bool
	// TBF limits what the router sends out to vb; without a rate it does not.
	// A Pair has none.
	TBF TBF
}

func (c Config) withDefaults() (Config, error) {
	if c.Queues == 0 {
		c.Queues = 1
	}
	if c.MTU == 0 {
		c.MTU = 1500
	}
	if c.Queues < 1 || c.Queues > 4096 {
		return c, fmt.Errorf("queues: have %d, need 1 to 4096", c.Queues)
	}
	if c.MTU < 1280 || c.MTU > 65535 {
		return c, fmt.Errorf("MTU: have %d, need 1280 to 65535", c.MTU)
	}
	return c, c.TBF.check(c.MTU)
}

// End is one end of a veth pair.
type End struct {
	NS    *netns.NS
	Iface string
	MAC   net.HardwareAddr // locally administered, the same in each lab
	IPv4  netip.Prefix     // not valid in a Pair
	IPv6  netip.Prefix     // not valid in a Pair, or where the kernel has no IPv6
}

// Label returns how the port is written, [NETNS:]IFACE.
func (e End) Label() string { return e.NS.Label(e.Iface) }

// Lab is two hosts with a router between them; see the package comment. Frames
// from VA to VB bear In.MAC as their destination, frames the other way Out.MAC.
type Lab struct {
	VA, In, Out, VB End

	a, r, b *netns.NS
	name    string
	mtu     int
}

// A returns the namespace of the host behind In. It is the lab's: do not close
// it.
func (l *Lab) A() *netns.NS { return l.a }

// R returns the namespace of the router.
func (l *Lab) R() *netns.NS { return l.r }

// B returns the namespace of the host behind Out.
func (l *Lab) B() *netns.NS { return l.b }

// New makes a lab, whole or not at all. It needs root.
func New(cfg Config) (*Lab, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	l := &Lab{name: cfg.Name, mtu: cfg.MTU}
	if err := l.build(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("lab: %w", err), l.Close())
	}
	return l, nil
}

func (l *Lab) build(cfg Config) error {
	prefix := cfg.Name
	if prefix == "" {
		prefix = "lab"
	}
	var err error
	for _, n := range l.namespaces() {
		if *n.ns, err = netns.New(prefix + n.suffix); err != nil {
			return err
		}
	}
	l.VA = End{NS: l.a, Iface: "va", MAC: mac(0xa1), IPv4: hostA4, IPv6: hostA6}
	l.In = End{NS: l.r, Iface: "in", MAC: mac(0xa2), IPv4: routerIn4, IPv6: routerIn6}
	l.Out = End{NS: l.r, Iface: "out", MAC: mac(0xb2), IPv4: routerOut4, IPv6: routerOut6}
	l.VB = End{NS: l.b, Iface: "vb", MAC: mac(0xb1), IPv4: hostB4, IPv6: hostB6}
	if !haveIPv6() {
		for _, e := range l.ends() {
			e.IPv6 = netip.Prefix{}
		}
	}
	if err := l.wire(cfg); err != nil {
		return err
	}
	if cfg.TBF.Rate > 0 {
		if err := l.SetTBF(cfg.TBF); err != nil {
			return err
		}
	}
	// Names come last: what has one is complete.
	return l.mount()
}

// member is one of the namespaces and what its name ends in.
type member struct {
	ns     **netns.NS
	suffix string
}

func (l *Lab) namespaces() []member {
	return []member{{&l.a, "-a"}, {&l.r, "-r"}, {&l.b, "-b"}}
}

func (l *Lab) ends() []*End { return []*End{&l.VA, &l.In, &l.Out, &l.VB} }

// mount names the namespaces where the lab has a name, all or none.
func (l *Lab) mount() error {
	if l.name == "" {
		return nil
	}
	for i, n := range l.namespaces() {
		err := (*n.ns).Mount(l.name + n.suffix)
		if err == nil {
			continue
		}
		for _, done := range l.namespaces()[:i] {
			err = errors.Join(err, netns.Unmount(l.name+done.suffix))
		}
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%w; take the old lab down first (squall lab down %s)", err, l.name)
		}
		l.name = "" // not ours to take away
		return err
	}
	return nil
}

// Probes returns the probes of the router: the links in and out, the qdisc of
// out and the IP counters. What is lost on the way to the router or to vb is
// seen by the links of VA and VB and by [probe.Softnet].
func (l *Lab) Probes() []probe.Probe { return routerProbes(l.r, l.In.Iface, l.Out.Iface) }

// Close takes the lab down, its names too. Sockets that are still open in a
// namespace keep that one alive.
func (l *Lab) Close() error {
	var errs []error
	if l.name != "" {
		errs = append(errs, Down(l.name))
	}
	for _, n := range l.namespaces() {
		errs = append(errs, (*n.ns).Close())
	}
	return errors.Join(errs...)
}

// Down takes a named lab away, whichever process made it, a half one too. The
// error for one that does not exist matches [fs.ErrNotExist].
func Down(name string) error {
	var errs []error
	var missing int
	members := (&Lab{}).namespaces()
	for _, n := range members {
		err := netns.Unmount(name + n.suffix)
		if errors.Is(err, fs.ErrNotExist) {
			missing++
			continue
		}
		errs = append(errs, err)
	}
	if missing == len(members) {
		return fmt.Errorf("lab %q: %w under %s", name, fs.ErrNotExist, netns.Dir)
	}
	return errors.Join(errs...)
}
