package port

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
)

// Info is what there is to know about a port before it is used. An engine's
// Supports decides from it whether the engine could use the port.
type Info struct {
	Port // not open: NS is nil

	LinkType string // kernel's name of the ARPHRD type: "ether", "loopback", ...
	Kind     string // kernel's name of a software device: "veth", "bridge", ...; "device" for hardware
	Driver   string
	Bus      string // such as a PCI address; empty for software devices
	State    string // RFC 2863: "up", "down", "unknown", ...

	TxQueues, RxQueues int // in use, as far as the driver says; else allocated
	Channels           Channels
	Ring               Ring
	XDP                XDP

	Addrs []netip.Prefix
	// DefaultRoute: a default route of its namespace goes out of it.
	DefaultRoute bool
}

// Channels are a device's interrupt channels, as ethtool -l shows them; all 0
// where the driver does not say.
type Channels struct {
	Rx, Tx, Combined          int
	MaxRx, MaxTx, MaxCombined int
}

// Ring has the lengths of a device's descriptor rings, as ethtool -g shows them;
// all 0 where the driver does not say.
type Ring struct {
	Rx, Tx, MaxRx, MaxTx int
}

// Inspect reads one port's information.
func Inspect(ref Ref) (Info, error) {
	all, err := inspect(ref.NetNS)
	if err != nil {
		return Info{}, ref.Explain(err, "CAP_SYS_ADMIN")
	}
	var names []string
	for _, i := range all {
		if i.Ref == ref {
			return i, nil
		}
		names = append(names, i.Ref.Iface)
	}
	return Info{}, fmt.Errorf("port %q: no such interface, have %s", ref, strings.Join(names, ", "))
}

// List reads the information of every port of this process's namespace and of
// the named ones, in the order of their namespaces and indices. With an error for
// namespaces that could not be read it returns those that could.
func List() ([]Info, error) {
	names := []string{""}
	entries, err := os.ReadDir(netns.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("named network namespaces: %w", err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	var all []Info
	var errs []error
	for _, name := range names {
		infos, err := inspect(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed since
		}
		all = append(all, infos...)
		errs = append(errs, err)
	}
	return all, errors.Join(errs...)
}

// inspect reads the ports of one namespace.
func inspect(name string) ([]Info, error) {
	ns, err := enter(name)
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	var infos []Info
	atHome := home(ns)
	err = ns.Do(func() error {
		infos, err = readInfos(name, atHome)
		return err
	})
	return infos, err
}

// readInfos reads the ports of the calling thread's namespace.
func readInfos(nsName string, atHome bool) ([]Info, error) {
	u, err := readUse()
	if err != nil {
		return nil, err
	}
	et, err := ethtool.NewEthtool()
	if err != nil {
		return nil, err
	}
	defer et.Close()
	dev, err := findNetdev()
	if err != nil {
		return nil, err
	}
	var why map[int]string
	if atHome {
		why = u.management()
	}
	infos := make([]Info, 0, len(u.links))
	for _, l := range u.links {
		a := l.Attrs()
		i := Info{
			Port: Port{
				Ref:   Ref{NetNS: nsName, Iface: a.Name},
				Index: a.Index, MAC: a.HardwareAddr, MTU: a.MTU,
				Up: up(a), Carrier: carrier(a),
				LinkBits:   speed(et, a.Name),
				Management: why[a.Index],
			},
			LinkType:     a.EncapType,
			Kind:         l.Type(),
			State:        a.OperState.String(),
			TxQueues:     a.NumTxQueues,
			RxQueues:     a.NumRxQueues,
			Addrs:        u.addrs[a.Index],
			DefaultRoute: u.defaults[a.Index],
		}
		if i.XDP, err = dev.xdp(a.Index); err != nil && !errors.Is(err, unix.ENODEV) {
			return nil, fmt.Errorf("interface %q: %w", a.Name, err)
		}
		i.askDriver(et)
		infos = append(infos, i)
	}
	return infos, nil
}

// askDriver fills in what the driver says about itself; it need not say any of it.
func (i *Info) askDriver(et *ethtool.Ethtool) {
	name := i.Ref.Iface
	if d, err := et.DriverInfo(name); err == nil {
		i.Driver, i.Bus = d.Driver, d.BusInfo
	}
	if c, err := et.GetChannels(name); err == nil {
		i.Channels = Channels{
			Rx: int(c.RxCount), Tx: int(c.TxCount), Combined: int(c.CombinedCount),
			MaxRx: int(c.MaxRx), MaxTx: int(c.MaxTx), MaxCombined: int(c.MaxCombined),
		}
		// What the kernel has allocated may be more than what is in use.
		if rx, tx := i.Channels.Rx+i.Channels.Combined, i.Channels.Tx+i.Channels.Combined; rx > 0 && tx > 0 {
			i.RxQueues, i.TxQueues = rx, tx
		}
	}
	if r, err := et.GetRing(name); err == nil {
		i.Ring = Ring{Rx: int(r.RxPending), Tx: int(r.TxPending), MaxRx: int(r.RxMaxPending), MaxTx: int(r.TxMaxPending)}
	}
}
