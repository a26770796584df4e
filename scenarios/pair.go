package scenarios

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"squall/internal/netns"
	"squall/internal/port"
	"squall/internal/probe"
)

// PairConfig says which ports to open, and how.
type PairConfig struct {
	TX port.Ref
	// RX is nil for a run that only sends.
	RX *port.Ref
	// Engine sends: packet, xdp, live, or auto, which is also the empty one.
	Engine string
	// Receiver counts what arrives: packet and xdp read frames, live counts them
	// in the kernel; auto or empty: whatever keeps up.
	Receiver string
	// Cores is how many workers send, each with a plan of its own; 0: one.
	Cores int
	// FirstCore is which of this process's CPUs the first worker is kept on, for
	// engines that keep to one; further workers take the next.
	FirstCore int
	// Namespaces are those that have no name under /run/netns, by the name that
	// the ports use: a lab's.
	Namespaces map[string]*netns.NS
	// AllowManagement lets a port be used that carries the default route or the
	// machine's only address.
	AllowManagement bool
}

// Pair is a sending and a receiving port, open; Engage makes it ready.
type Pair struct {
	TX, RX *port.Port // RX nil: none
	// TXInfo and RXInfo are what there is to know about them.
	TXInfo, RXInfo port.Info
	// Engine and Receiver are the engines that were chosen, and why.
	Engine, Why           string
	Receiver, ReceiverWhy string
	// Run is the run ID that frames carry in their tag, drawn from the system's
	// random numbers.
	Run uint16

	config   PairConfig
	senders  []port.Sender // one a core
	restore  func() error  // what sending changed at the other end of a veth
	reader   port.BatchReader
	accounts *accounts
}

// OpenPair opens the ports. It refuses one and the same port twice, ports that
// are down, have no carrier, or that the host is managed through.
func OpenPair(c PairConfig) (_ *Pair, err error) {
	if err := checkNames(c.Engine, c.Receiver); err != nil {
		return nil, err
	}
	if n := runtime.NumCPU(); c.Cores > n {
		return nil, fmt.Errorf("cores: have %d, need %d", n, c.Cores)
	}
	p := &Pair{Run: runID(), config: c}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	if p.TX, p.TXInfo, err = c.openPort(c.TX); err != nil {
		return nil, err
	}
	if c.RX != nil {
		if p.RX, p.RXInfo, err = c.openPort(*c.RX); err != nil {
			return nil, err
		}
		if p.RX.Index == p.TX.Index && p.RX.NS.Same(p.TX.NS) {
			return nil, fmt.Errorf("ports %q and %q are the same: name two", c.TX, c.RX)
		}
	}
	return p, nil
}

// openPort opens a port that may be used and has its link.
func (c *PairConfig) openPort(ref port.Ref) (*port.Port, port.Info, error) {
	p, err := c.find(ref)
	if err != nil {
		return nil, port.Info{}, err
	}
	info, err := c.usable(p)
	if err != nil {
		return nil, info, errors.Join(err, p.Close())
	}
	return p, info, nil
}

func (c *PairConfig) find(ref port.Ref) (*port.Port, error) {
	if ns, ok := c.Namespaces[ref.NetNS]; ok {
		return port.OpenIn(ns, ref.Iface)
	}
	return port.Open(ref)
}

// carrierWait is how long a port may take to find its link: autonegotiation of
// 1000BASE-T needs some 3 s after an interface is set up.
const carrierWait = 5 * time.Second

// usable waits for the link of a port that may be used.
func (c *PairConfig) usable(p *port.Port) (port.Info, error) {
	if !c.AllowManagement {
		if err := p.RefuseManagement(); err != nil {
			return port.Info{}, err
		}
	}
	if !p.Up {
		return port.Info{}, fmt.Errorf("port %q is down: set it up with ip link set %s up", p.Ref, p.Ref.Iface)
	}
	for end := time.Now().Add(carrierWait); ; time.Sleep(50 * time.Millisecond) {
		info, err := p.Inspect()
		if err != nil || info.Carrier {
			return info, err
		}
		if time.Now().After(end) {
			return info, fmt.Errorf("port %q has no link after %v: is the cable in, and the other end up?", p.Ref, carrierWait)
		}
	}
}

func runID() uint16 {
	var b [2]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // never, by its documentation
	}
	return binary.BigEndian.Uint16(b[:])
}

// DstMAC returns where frames are addressed to unless the user says otherwise:
// the receiving port, or broadcast where there is none.
func (p *Pair) DstMAC() net.HardwareAddr {
	if p.RX == nil {
		return net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	}
	return p.RX.MAC
}

// Close closes engines and ports and puts back what they changed.
func (p *Pair) Close() error {
	errs := []error{p.disengage()}
	if p.TX != nil {
		errs = append(errs, p.TX.Close())
	}
	if p.RX != nil {
		errs = append(errs, p.RX.Close())
	}
	return errors.Join(errs...)
}

// probes returns the counters of both ports and of this machine.
func (p *Pair) probes() []probe.Probe {
	ps := []probe.Probe{
		probe.Link{NS: p.TX.NS, Iface: p.TX.Ref.Iface},
		probe.Ethtool{NS: p.TX.NS, Iface: p.TX.Ref.Iface},
		probe.Qdisc{NS: p.TX.NS, Iface: p.TX.Ref.Iface},
	}
	if p.RX != nil {
		ps = append(ps,
			probe.Link{NS: p.RX.NS, Iface: p.RX.Ref.Iface},
			probe.Ethtool{NS: p.RX.NS, Iface: p.RX.Ref.Iface},
		)
	}
	return append(ps, probe.Softnet{})
}

// Joined reports whether the two ports are the two ends of one veth pair: each
// says that the other is its peer. A loss on the cable is then counted at both.
func (p *Pair) Joined() bool {
	if p.RX == nil || p.TXInfo.Driver != "veth" || p.RXInfo.Driver != "veth" {
		return false
	}
	peers := func(a, b *port.Port) bool {
		r, err := probe.Ethtool{NS: a.NS, Iface: a.Ref.Iface}.Read()
		n, ok := r.Value(a.Ref.String(), "peer_ifindex")
		return err == nil && ok && n == uint64(b.Index)
	}
	return peers(p.TX, p.RX) && peers(p.RX, p.TX)
}
