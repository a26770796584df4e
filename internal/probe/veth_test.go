package probe

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/netns"
)

// cable is va in one new namespace and vb in another, up, without IPv6. The
// queue of va holds a few frames only.
func cable(t *testing.T) (a, b *netns.NS) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs CAP_SYS_ADMIN and CAP_NET_ADMIN")
	}
	var spaces [2]*netns.NS
	for i, name := range []string{"probe-a", "probe-b"} {
		n, err := netns.New(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		spaces[i] = n
		inside(t, n, func() error {
			return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
		})
	}
	a, b = spaces[0], spaces[1]
	inside(t, a, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.TxQLen = "va", 8
		veth := netlink.NewVeth(attrs)
		veth.PeerName, veth.PeerNamespace = "vb", netlink.NsFd(b.FD())
		return errors.Join(netlink.LinkAdd(veth), up("va"))
	})
	inside(t, b, func() error { return up("vb") })
	return a, b
}

func up(iface string) error {
	link, err := netlink.LinkByName(iface)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

func inside(t *testing.T, n *netns.NS, fn func() error) {
	t.Helper()
	if err := n.Do(fn); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, p Probe) Reading {
	t.Helper()
	r, err := p.Read()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range r.Counters {
		if key := c.Where + " " + c.Name; seen[key] {
			t.Errorf("%s: %s twice", p.Name(), key)
		} else {
			seen[key] = true
		}
	}
	return r
}

// send puts n frames of 100 bytes on an interface, through its qdisc. The
// EtherType is one for experiments (IEEE 802), so no protocol takes them.
func send(t *testing.T, ns *netns.NS, iface string, n int) {
	t.Helper()
	inside(t, ns, func() error {
		link, err := netlink.LinkByName(iface)
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		frame := make([]byte, 100)
		copy(frame, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5})
		to := &unix.SockaddrLinklayer{Ifindex: link.Attrs().Index, Protocol: 0xb588}
		for range n {
			// packet(7): a drop in the qdisc answers ENOBUFS; the qdisc counts it.
			if err := unix.Sendto(fd, frame, 0, to); err != nil && err != unix.ENOBUFS {
				return err
			}
		}
		return nil
	})
}

func moves(before, after Reading) map[string]uint64 {
	m := map[string]uint64{}
	for _, c := range Moves(Delta(before, after)) {
		m[c.Name] = c.Moved
	}
	return m
}

func TestLinkCounts(t *testing.T) {
	a, b := cable(t)
	va, vb := Link{a, "va"}, Link{b, "vb"}
	beforeA, beforeB := read(t, va), read(t, vb)
	send(t, a, "va", 50)
	afterA := read(t, va)
	if diff := cmp.Diff(map[string]uint64{"tx_packets": 50, "tx_bytes": 5000}, moves(beforeA, afterA)); diff != "" {
		t.Errorf("va (-want +got):\n%s", diff)
	}
	// Nobody takes these frames: broadcast of an unknown type.
	want := map[string]uint64{"rx_packets": 50, "rx_bytes": 5000, "rx_dropped": 50}
	got := moves(beforeB, settle(t, vb, "rx_dropped", 50))
	delete(got, "multicast") // counted by newer kernels only
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("vb (-want +got):\n%s", diff)
	}
	if v, ok := afterA.Value("probe-a:va", "carrier"); !ok || v != 1 {
		t.Errorf("carrier: have %d %v, want 1", v, ok)
	}
	if v, ok := afterA.Value("probe-a:va", "operstate"); !ok || v != 6 {
		t.Errorf("operstate: have %d %v, want 6 (up)", v, ok)
	}
}

// settle reads until a counter stands at want: the receiving softirq may run
// later than the sender.
func settle(t *testing.T, l Link, name string, want uint64) Reading {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		r := read(t, l)
		if v, _ := r.Value(l.NS.Label(l.Iface), name); v == want || time.Now().After(deadline) {
			return r
		}
	}
}

// The names and numbers are those of sysfs, which shows the namespace it was
// mounted in.
func TestLinkIsSysfs(t *testing.T) {
	a, b := cable(t)
	send(t, a, "va", 20)
	send(t, b, "vb", 30)
	r := settle(t, Link{a, "va"}, "rx_packets", 30)
	out, err := a.Command("unshare", "--mount", "sh", "-c",
		"mount -t sysfs sysfs /sys && cd /sys/class/net/va/statistics && grep . *").CombinedOutput()
	if err != nil {
		t.Fatalf("sysfs: %v\n%s", err, out)
	}
	want := map[string]uint64{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if want[name], err = strconv.ParseUint(value, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if len(want) < 23 {
		t.Fatalf("sysfs has %d counters, want 23 or more:\n%s", len(want), out)
	}
	got := map[string]uint64{}
	for name := range maps.Keys(want) {
		if v, ok := r.Value("probe-a:va", name); ok {
			got[name] = v
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statistics (-sysfs +netlink):\n%s", diff)
	}
}

func TestLinkFlap(t *testing.T) {
	a, b := cable(t)
	before := read(t, Link{a, "va"})
	inside(t, b, func() error {
		link, err := netlink.LinkByName("vb")
		if err != nil {
			return err
		}
		return netlink.LinkSetDown(link)
	})
	after := read(t, Link{a, "va"})
	for _, c := range Delta(before, after) {
		switch c.Name {
		case "carrier":
			if c.Before != 1 || c.After != 0 {
				t.Errorf("carrier: have %d, then %d, want 1, then 0", c.Before, c.After)
			}
		case "carrier_down_count", "carrier_changes":
			if c.Moved != 1 {
				t.Errorf("%s: moved %d, want 1", c.Name, c.Moved)
			}
		}
	}
}

// What the qdisc dropped is what was sent and did not leave, and a child's
// drops are the same ones.
func TestQdiscDrops(t *testing.T) {
	const sent = 200
	a, b := cable(t)
	q, far := Qdisc{a, "va"}, Link{b, "vb"}
	inside(t, a, func() error {
		link, err := netlink.LinkByName("va")
		if err != nil {
			return err
		}
		index := link.Attrs().Index
		root := netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT})
		root.Defcls = 1
		// 8 bytes a second: after the first burst, nothing leaves in time.
		class := netlink.NewHtbClass(
			netlink.ClassAttrs{LinkIndex: index, Handle: netlink.MakeHandle(1, 1), Parent: netlink.MakeHandle(1, 0)},
			netlink.HtbClassAttrs{Rate: 64, Buffer: 2000, Cbuffer: 2000})
		leaf := &netlink.GenericQdisc{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0x10, 0), Parent: netlink.MakeHandle(1, 1)},
			QdiscType:  "pfifo",
		}
		return errors.Join(netlink.QdiscAdd(root), netlink.ClassAdd(class), netlink.QdiscAdd(leaf))
	})
	before, farBefore := read(t, q), read(t, far)
	send(t, a, "va", sent)
	after := read(t, q)
	waiting, ok := after.Value("probe-a:va", "qdisc.qlen")
	if !ok {
		t.Fatalf("no qdisc.qlen in %v", after.Counters)
	}
	got := moves(before, after)
	passed := moves(farBefore, settle(t, far, "rx_packets", got["qdisc.packets"]))["rx_packets"]
	if got["qdisc.drops"] == 0 || got["qdisc.drops"] != sent-passed-waiting {
		t.Errorf("qdisc.drops: have %d, want %d sent - %d received - %d waiting", got["qdisc.drops"], sent, passed, waiting)
	}
	if got["qdisc.packets"] != passed || got["qdisc.bytes"] != passed*100 {
		t.Errorf("have %d packets and %d bytes, want %d of 100 bytes", got["qdisc.packets"], got["qdisc.bytes"], passed)
	}
	t.Logf("%d sent, %v", sent, got)
	if child := got["qdisc[pfifo 10:].drops"]; child != got["qdisc.drops"] {
		t.Errorf("drops: child has %d, root %d, want a view of the same", child, got["qdisc.drops"])
	}
}

func TestEthtool(t *testing.T) {
	a, _ := cable(t)
	// veth counts XDP frames of each receive queue under this name.
	if _, ok := read(t, Ethtool{a, "va"}).Value("probe-a:va", "rx_queue_0_xdp_packets"); !ok {
		t.Error("rx_queue_0_xdp_packets of a veth is missing")
	}
	if r := read(t, Ethtool{a, "lo"}); len(r.Counters) != 0 {
		t.Errorf("lo, which has none: %v", r.Counters)
	}
}

func TestIPOfNamespace(t *testing.T) {
	a, _ := cable(t)
	inside(t, a, func() error { return up("lo") })
	before := read(t, IP{a})
	if v, ok := before.Value("probe-a", "Ip.InReceives"); !ok || v != 0 {
		t.Errorf("Ip.InReceives of a new namespace: have %d %v, want 0", v, ok)
	}
	inside(t, a, func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: 9})
	})
	got := moves(before, read(t, IP{a}))
	// The datagram, and the ICMP error that comes back.
	if got["Ip.OutRequests"] != 2 || got["Ip.InReceives"] != 2 || got["Ip.InDelivers"] != 2 {
		t.Errorf("one datagram over lo and its answer: %v", got)
	}
	if (IP{}).where() != "ip" || (IP{}).Name() != "ip" {
		t.Errorf("names of the current namespace: %q, %q", (IP{}).where(), (IP{}).Name())
	}
}

func TestSoftnetOfThisMachine(t *testing.T) {
	r := read(t, Softnet{})
	found := false
	for _, c := range r.Counters {
		found = found || strings.HasSuffix(c.Name, ".dropped")
	}
	if !found {
		t.Errorf("no dropped in %v", r.Counters)
	}
}

func TestMissingPortIsNamed(t *testing.T) {
	a, _ := cable(t)
	for _, p := range []Probe{Link{a, "eth77"}, Qdisc{a, "eth77"}, Ethtool{a, "eth77"}} {
		_, err := p.Read()
		if !errors.Is(err, unix.ENODEV) || !strings.Contains(err.Error(), "probe-a:eth77") {
			t.Errorf("%T: have %v, want %v naming probe-a:eth77", p, err, unix.ENODEV)
		}
	}
	for _, iface := range []string{"", "sixteen-letters-"} {
		if _, err := (Link{a, iface}).Read(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", iface)) {
			t.Errorf("Link of %q: have %v", iface, err)
		}
	}
}

func TestClosedNamespaceIsAnError(t *testing.T) {
	a, _ := cable(t)
	a.Close()
	for _, p := range []Probe{Link{a, "va"}, Qdisc{a, "va"}, Ethtool{a, "va"}, IP{a}} {
		if _, err := p.Read(); !errors.Is(err, unix.EBADF) {
			t.Errorf("%T: have %v, want %v", p, err, unix.EBADF)
		}
	}
}
