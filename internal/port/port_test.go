package port_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
	"squall/internal/pace"
	"squall/internal/port"
)

// newNS makes a namespace without IPv6 whose loopback is up.
func newNS(t *testing.T) *netns.NS {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_SYS_ADMIN and CAP_NET_ADMIN")
	}
	ns, err := netns.New("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

func in(t *testing.T, ns *netns.NS, fn func() error) {
	t.Helper()
	if err := ns.Do(fn); err != nil {
		t.Fatal(err)
	}
}

// addVeth makes a veth pair within the calling thread's namespace, up.
func addVeth(name, peer string) error {
	v := netlink.NewVeth(netlink.NewLinkAttrs())
	v.Name, v.PeerName = name, peer
	v.HardwareAddr = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	v.MTU = 1400
	if err := netlink.LinkAdd(v); err != nil {
		return err
	}
	return errors.Join(setUp(name), setUp(peer))
}

func change(name string, fn func(netlink.Link) error) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return fn(l)
}

func setUp(name string) error { return change(name, netlink.LinkSetUp) }

func TestParseRef(t *testing.T) {
	tests := []struct {
		in   string
		want port.Ref
		err  string
	}{
		{"eth1", port.Ref{Iface: "eth1"}, ""},
		{"lab-a:va", port.Ref{NetNS: "lab-a", Iface: "va"}, ""},
		{"/proc/1/ns/net:eth0", port.Ref{NetNS: "/proc/1/ns/net", Iface: "eth0"}, ""},
		{"a:b:va", port.Ref{NetNS: "a:b", Iface: "va"}, ""},
		{"fifteen-letters", port.Ref{Iface: "fifteen-letters"}, ""},
		{"sixteen--letters", port.Ref{}, "16 bytes, at most 15"},
		{"", port.Ref{}, "no interface"},
		{"lab-a:", port.Ref{}, "no interface"},
		{":va", port.Ref{}, "no namespace"},
		{"lab-a:v a", port.Ref{}, "no interface has such a name"},
		{"lab/va", port.Ref{}, "no interface has such a name"},
	}
	for _, tt := range tests {
		got, err := port.ParseRef(tt.in)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%q: error %v, want %q", tt.in, err, tt.err)
		}
		if got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.in, got, tt.want)
		}
		if err == nil && got.String() != tt.in {
			t.Errorf("%q prints as %q", tt.in, got)
		}
	}
}

func TestOpen(t *testing.T) {
	ns := newNS(t)
	in(t, ns, func() error { return addVeth("va", "vb") })
	p, err := port.Open(port.Ref{NetNS: ns.Path(), Iface: "va"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var index int
	in(t, ns, func() error {
		return change("va", func(l netlink.Link) error {
			index = l.Attrs().Index
			return nil
		})
	})
	if p.Index != index || p.MAC.String() != "02:00:00:00:00:01" || p.MTU != 1400 || !p.Up || !p.Carrier || p.LinkBits != 10e9 || !p.NS.Same(ns) {
		t.Errorf("port is %+v", p)
	}
	if err := p.CheckLink(); err != nil {
		t.Error(err)
	}

	again, err := port.OpenIn(ns, "va")
	if err != nil {
		t.Fatal(err)
	}
	if again.Index != index || again.Ref.String() != ns.Label("va") {
		t.Errorf("by its handle: port %d, %s, want %d, %s", again.Index, again.Ref, index, ns.Label("va"))
	}
	info, err := again.Inspect()
	if err != nil || info.Index != index || info.Kind != "veth" {
		t.Errorf("information %+v, error %v", info, err)
	}
	if err := again.Close(); err != nil { // not the handle it was given
		t.Fatal(err)
	}
	if _, err := port.OpenIn(ns, "vc"); err == nil || !strings.Contains(err.Error(), "have lo") {
		t.Errorf("by its handle, no such port: error %v", err)
	}

	in(t, ns, func() error { return change("vb", netlink.LinkSetDown) })
	if err := p.CheckLink(); !errors.Is(err, port.ErrLink) {
		t.Errorf("peer down: error %v, want %v", err, port.ErrLink)
	}
	down, err := port.Open(p.Ref)
	if err != nil {
		t.Fatal(err)
	}
	defer down.Close()
	if !down.Up || down.Carrier {
		t.Errorf("peer down: up %v, carrier %v, want true, false", down.Up, down.Carrier)
	}

	in(t, ns, func() error { return change("va", netlink.LinkDel) })
	if err := p.CheckLink(); !errors.Is(err, port.ErrGone) {
		t.Errorf("deleted: error %v, want %v", err, port.ErrGone)
	}
}

func TestOpenSaysWhatThereIs(t *testing.T) {
	ns := newNS(t)
	in(t, ns, func() error { return addVeth("va", "vb") })
	named := fmt.Sprintf("squall-port-test-%d", os.Getpid())
	if err := ns.Mount(named); err != nil {
		t.Fatal(err)
	}
	defer netns.Unmount(named)
	tests := []struct {
		ref port.Ref
		is  error
		has []string
	}{
		{port.Ref{NetNS: named, Iface: "vc"}, nil, []string{named + `:vc"`, "no such interface, have lo, ", "va", "vb"}},
		{port.Ref{NetNS: "squall-no-such", Iface: "va"}, fs.ErrNotExist, []string{`"squall-no-such:va"`, "have ", named}},
	}
	for _, tt := range tests {
		for name, open := range map[string]func() error{
			"Open":    func() error { _, err := port.Open(tt.ref); return err },
			"Inspect": func() error { _, err := port.Inspect(tt.ref); return err },
		} {
			err := open()
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%s %s: error %v, want %v", name, tt.ref, err, tt.is)
				continue
			}
			for _, s := range tt.has {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%s %s: error %q, want %q in it", name, tt.ref, err, s)
				}
			}
		}
	}

	// An error would be about somebody else's namespace.
	infos, _ := port.List()
	var got []string
	for _, i := range infos {
		if i.Ref.NetNS == named {
			got = append(got, i.Ref.String())
		}
	}
	for _, want := range []string{named + ":lo", named + ":va", named + ":vb"} {
		if !strings.Contains(strings.Join(got, " "), want) {
			t.Errorf("list has %v, want %s", got, want)
		}
	}
}

func TestInspect(t *testing.T) {
	ns := newNS(t)
	in(t, ns, func() error {
		return errors.Join(addVeth("va", "vb"), addAddr("va", "10.1.2.3/24"), addRoute("va", "10.1.2.1", 0))
	})
	i, err := port.Inspect(port.Ref{NetNS: ns.Path(), Iface: "va"})
	if err != nil {
		t.Fatal(err)
	}
	// What a kernel answers about itself varies; the rest is ours.
	got := i
	got.Port = port.Port{}
	got.XDP, got.Ring = port.XDP{}, port.Ring{}
	got.Addrs = nil
	got.State = "" // up to a second behind (net/core/link_watch.c)
	want := port.Info{
		LinkType: "ether", Kind: "veth", Driver: "veth",
		TxQueues: 1, RxQueues: 1,
		Channels:     port.Channels{Rx: 1, Tx: 1, MaxRx: i.Channels.MaxRx, MaxTx: i.Channels.MaxTx},
		DefaultRoute: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("info (-want +got):\n%s", diff)
	}
	if i.XDP.Known && (!i.XDP.Basic || !i.XDP.Redirect || i.XDP.ZeroCopy) {
		t.Errorf("XDP of a veth is %+v", i.XDP)
	}
	if len(i.Addrs) == 0 || i.Addrs[0] != netip.MustParsePrefix("10.1.2.3/24") {
		t.Errorf("addresses %v, want 10.1.2.3/24 first", i.Addrs)
	}
	if i.State == "" {
		t.Error("no state")
	}
	if i.Management != "" {
		t.Errorf("port of a lab namespace %s, want nothing", i.Management)
	}
	lo, err := port.Inspect(port.Ref{NetNS: ns.Path(), Iface: "lo"})
	if err != nil || lo.LinkType != "loopback" || lo.DefaultRoute {
		t.Errorf("lo is %+v, error %v", lo, err)
	}
}

func addAddr(iface, cidr string) error {
	a, err := netlink.ParseAddr(cidr)
	if err != nil {
		return err
	}
	return change(iface, func(l netlink.Link) error { return netlink.AddrAdd(l, a) })
}

// addRoute adds a default route out of iface; table 0 is the main one.
func addRoute(iface, gateway string, table int) error {
	return change(iface, func(l netlink.Link) error {
		r := &netlink.Route{LinkIndex: l.Attrs().Index, Table: table, Gw: net.ParseIP(gateway)}
		if r.Gw.To4() == nil {
			r.Dst = &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
		} else {
			r.Dst = &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
		}
		return netlink.RouteAdd(r)
	})
}

func addMacvlan(parent, name string) error {
	return change(parent, func(l netlink.Link) error {
		v := &netlink.Macvlan{LinkAttrs: netlink.NewLinkAttrs(), Mode: netlink.MACVLAN_MODE_BRIDGE}
		v.Name, v.ParentIndex = name, l.Attrs().Index
		return errors.Join(netlink.LinkAdd(v), setUp(name))
	})
}

func addBridge(name, member string) error {
	b := &netlink.Bridge{LinkAttrs: netlink.NewLinkAttrs()}
	b.Name = name
	if err := netlink.LinkAdd(b); err != nil {
		return err
	}
	return errors.Join(setUp(name), change(member, func(l netlink.Link) error { return netlink.LinkSetMaster(l, b) }))
}

// The namespace that squall runs in is guarded, whichever it is.
func TestManagement(t *testing.T) {
	two := func() error { return errors.Join(addAddr("va", "10.1.2.3/24"), addAddr("wa", "10.1.3.3/24")) }
	const route, address = "carries the default route", "has the machine's only global address"
	tests := []struct {
		name string
		do   func() error
		va   string
	}{
		{"nothing", func() error { return nil }, ""},
		{"one of two addresses", two, ""},
		{"only address", func() error { return addAddr("va", "10.1.2.3/24") }, address},
		{"only address, IPv6", func() error { return addAddr("va", "2001:db8::1/64") }, address},
		{"two addresses, both on the port", func() error {
			return errors.Join(addAddr("va", "10.1.2.3/24"), addAddr("va", "2001:db8::1/64"))
		}, address},
		{"link-local address", func() error { return addAddr("va", "169.254.1.1/16") }, address},
		{"default route", func() error { return errors.Join(two(), addRoute("va", "10.1.2.1", 0)) }, route},
		{"default route of the other", func() error { return errors.Join(two(), addRoute("wa", "10.1.3.1", 0)) }, ""},
		{"default route of another table", func() error { return errors.Join(two(), addRoute("va", "10.1.2.1", 77)) }, route},
		{"default route, IPv6", func() error {
			return errors.Join(two(), addAddr("va", "2001:db8::1/64"), addRoute("va", "2001:db8::2", 0))
		}, route},
		{"default route over several hops", func() error {
			return errors.Join(two(), change("va", func(a netlink.Link) error {
				return change("wa", func(b netlink.Link) error {
					return netlink.RouteAdd(&netlink.Route{
						Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)},
						MultiPath: []*netlink.NexthopInfo{
							{LinkIndex: b.Attrs().Index, Gw: net.ParseIP("10.1.3.1")},
							{LinkIndex: a.Attrs().Index, Gw: net.ParseIP("10.1.2.1")},
						},
					})
				})
			}))
		}, route},
		{"blackhole", func() error {
			return errors.Join(two(), netlink.RouteAdd(&netlink.Route{Dst: &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}, Type: unix.RTN_BLACKHOLE}))
		}, ""},
		{"default route of a device on top", func() error {
			return errors.Join(two(), addMacvlan("va", "mac0"), addAddr("mac0", "10.1.4.1/24"), addRoute("mac0", "10.1.4.2", 0))
		}, route + " (through mac0)"},
		{"default route through a bridge", func() error {
			return errors.Join(two(), addBridge("br0", "va"), addAddr("br0", "10.1.4.1/24"), addRoute("br0", "10.1.4.2", 0))
		}, route + " (through br0)"},
		{"default route of the veth's other end", func() error {
			return errors.Join(two(), addAddr("vb", "10.1.4.1/24"), addRoute("vb", "10.1.4.2", 0))
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ns := newNS(t)
			in(t, ns, func() error {
				if err := errors.Join(addVeth("va", "vb"), addVeth("wa", "wb"), tt.do()); err != nil {
					return err
				}
				p, err := port.Open(port.Ref{Iface: "va"})
				if err != nil {
					return err
				}
				defer p.Close()
				if p.Management != tt.va {
					t.Errorf("port %q, want %q", p.Management, tt.va)
				}
				i, err := port.Inspect(port.Ref{Iface: "va"})
				if err != nil || i.Management != tt.va {
					t.Errorf("info %q, error %v, want %q", i.Management, err, tt.va)
				}
				err = p.RefuseManagement()
				if (err != nil) != (tt.va != "") {
					t.Errorf("refused: %v, want %v", err, tt.va != "")
				}
				if err != nil && (!strings.Contains(err.Error(), `"va" `+tt.va) || !strings.Contains(err.Error(), "--allow-management")) {
					t.Errorf("refused with %q", err)
				}
				return nil
			})
			// Seen from elsewhere it is a lab.
			p, err := port.Open(port.Ref{NetNS: ns.Path(), Iface: "va"})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if err := p.RefuseManagement(); err != nil {
				t.Errorf("refused from another namespace: %v", err)
			}
		})
	}
}

func TestWatch(t *testing.T) {
	ns := newNS(t)
	in(t, ns, func() error { return addVeth("va", "vb") })
	p, err := port.Open(port.Ref{NetNS: ns.Path(), Iface: "va"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	events, err := port.Watch(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name string
		do   func() error
		want port.LinkChange
	}{
		{"peer down", func() error { return change("vb", netlink.LinkSetDown) }, port.LinkLost},
		{"peer up", func() error { return setUp("vb") }, port.LinkBack},
		{"into a bridge, out of it, and down", func() error {
			return errors.Join(addBridge("br0", "va"), change("va", netlink.LinkSetNoMaster), change("va", netlink.LinkSetDown))
		}, port.LinkLost},
		{"up", func() error { return setUp("va") }, port.LinkBack},
		{"deleted", func() error { return change("va", netlink.LinkDel) }, 0},
	}
	for _, s := range steps {
		before := pace.Now()
		in(t, ns, s.do)
		if s.want == 0 {
			break
		}
		select {
		case e := <-events:
			if e.Change != s.want || e.Ref != p.Ref || e.At < before {
				t.Fatalf("%s: event %v of %s, want %v", s.name, e.Change, e.Ref, s.want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: no event, want %v", s.name, s.want)
		}
	}
	// A port that is deleted is set down first; that may be told or not.
	var last port.LinkChange
	for e := range events {
		if last = e.Change; last == port.LinkBack {
			t.Errorf("deleted: event %v", last)
		}
	}
	if last != port.LinkGone {
		t.Errorf("deleted: last event %v, want %v", last, port.LinkGone)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	ns := newNS(t)
	in(t, ns, func() error { return addVeth("va", "vb") })
	p, err := port.Open(port.Ref{NetNS: ns.Path(), Iface: "va"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	events, err := port.Watch(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case e, ok := <-events:
		if ok {
			t.Errorf("event %v", e.Change)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("channel is still open")
	}

	in(t, ns, func() error { return change("va", netlink.LinkDel) })
	if _, err := port.Watch(t.Context(), p); !errors.Is(err, port.ErrGone) {
		t.Errorf("watching a deleted port: error %v, want %v", err, port.ErrGone)
	}
}

func TestStamps(t *testing.T) {
	s := port.NewStamps(3) // rounded up to 4
	for seq := range uint64(10) {
		s.Set(seq, int64(100+seq))
	}
	for seq := range uint64(12) {
		at, ok := s.SentAt(seq)
		if want := seq >= 6 && seq < 10; ok != want || ok && at != int64(100+seq) {
			t.Errorf("frame %d: %d, %v, want it known: %v", seq, at, ok, want)
		}
	}
	s.Set(12, 112) // 10 and 11 are passed over, and 11 comes later
	s.Set(11, 113)
	for seq, want := range map[uint64]int64{8: 0, 9: 109, 10: 0, 11: 113, 12: 112, 13: 0} {
		if at, ok := s.SentAt(seq); at != want || ok != (want != 0) {
			t.Errorf("frame %d: %d, %v, want %d", seq, at, ok, want)
		}
	}
}
