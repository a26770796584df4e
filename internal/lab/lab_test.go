package lab_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/lab"
	"squall/internal/netns"
	"squall/internal/probe"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs CAP_SYS_ADMIN and CAP_NET_ADMIN")
	}
}

func newLab(t *testing.T, cfg lab.Config) *lab.Lab {
	t.Helper()
	needRoot(t)
	l, err := lab.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// blast sends one UDP datagram of 100 bytes to each address in turn, until
// there are n, from the sockets of ns.
func blast(t *testing.T, ns *netns.NS, n int, to ...netip.Addr) {
	t.Helper()
	err := ns.Do(func() error {
		family := unix.AF_INET
		if to[0].Is6() {
			family = unix.AF_INET6
		}
		fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		payload := make([]byte, 100)
		for i := range n {
			var sa unix.Sockaddr
			if ip := to[i%len(to)]; ip.Is4() {
				sa = &unix.SockaddrInet4{Port: 9, Addr: ip.As4()}
			} else {
				sa = &unix.SockaddrInet6{Port: 9, Addr: ip.As16()}
			}
			if err := unix.Sendto(fd, payload, 0, sa); err != nil {
				return fmt.Errorf("to %s: %w", to[i%len(to)], err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// everything reads all that the lab and both hosts count.
func everything(t *testing.T, l *lab.Lab) probe.Reading {
	t.Helper()
	set := probe.Set{Title: "all", Probes: append(l.Probes(),
		probe.Link{NS: l.A(), Iface: l.VA.Iface}, probe.Link{NS: l.B(), Iface: l.VB.Iface})}
	r, err := set.Read()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// moves gives what moved as "where name" and how far, levels left out.
func moves(before, after probe.Reading) map[string]uint64 {
	m := map[string]uint64{}
	for _, c := range probe.Delta(before, after) {
		if c.Moved != 0 {
			m[c.Where+" "+c.Name] = c.Moved
		}
	}
	return m
}

// drained waits until the router's queue is empty and vb stands still at what
// left it.
func drained(t *testing.T, l *lab.Lab, before probe.Reading) map[string]uint64 {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		r := everything(t, l)
		m := moves(before, r)
		waiting, _ := r.Value("lab-r:out", "qdisc.qlen")
		if waiting == 0 && m["lab-r:out tx_packets"] == m["lab-b:vb rx_packets"] {
			return m
		}
		if time.Now().After(deadline) {
			t.Fatalf("not drained in a minute: %v", m)
		}
	}
}

// losses are the counters of the router and of both hosts' ports that name a
// loss; what else moves is traffic.
func losses(m map[string]uint64) map[string]uint64 {
	out := map[string]uint64{}
	for name, n := range m {
		for _, word := range []string{"drop", "err", "Discards", "NoRoutes", "Errors", "missed", "fifo", "Fails"} {
			if strings.Contains(name, word) {
				out[name] = n
			}
		}
	}
	return out
}

// A storm overruns the queue of out: the frames that do not arrive are those
// that its qdisc counted, to the frame, and nothing else lost any.
func TestStormIsNamed(t *testing.T) {
	const sent = 5000
	for _, to := range []string{"198.18.1.2", "2001:2:0:1::2"} {
		t.Run(to, func(t *testing.T) {
			l := newLab(t, lab.Config{TBF: lab.TBF{Rate: 20e6, Burst: 3000, Limit: 20000}})
			before := everything(t, l)
			blast(t, l.A(), sent, netip.MustParseAddr(to))
			m := drained(t, l, before)

			received := m["lab-b:vb rx_packets"]
			if received == 0 || received == sent {
				t.Fatalf("received %d of %d: no storm", received, sent)
			}
			t.Logf("%d sent, %d received, qdisc.drops %d", sent, received, m["lab-r:out qdisc.drops"])
			if diff := cmp.Diff(map[string]uint64{"lab-r:out qdisc.drops": sent - received}, losses(m)); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
			for name, want := range map[string]uint64{
				"lab-a:va tx_packets":     sent,
				"lab-r:in rx_packets":     sent,
				"lab-r:out qdisc.packets": received,
				"lab-r:out tx_packets":    received,
				"lab-b:vb tx_packets":     0,
				"lab-r:in tx_packets":     0,
				"lab-r:out rx_packets":    0,
			} {
				if m[name] != want {
					t.Errorf("%s: moved %d, want %d", name, m[name], want)
				}
			}
		})
	}
}

// The counters go on when the limit is changed, and the new one holds.
func TestSetTBF(t *testing.T) {
	const sent = 1000
	// 100 bytes a second: nothing but the burst leaves during the test.
	l := newLab(t, lab.Config{TBF: lab.TBF{Rate: 800, Burst: 1514, Limit: 1514}})
	before := everything(t, l)
	blast(t, l.A(), sent, netip.MustParseAddr("198.18.1.2"))
	r := everything(t, l)
	first := moves(before, r)["lab-r:out qdisc.drops"]
	if first == 0 {
		t.Fatal("no drops")
	}
	if err := l.SetTBF(lab.TBF{Rate: 10e9, Burst: 1 << 20, Limit: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	blast(t, l.A(), sent, netip.MustParseAddr("198.18.1.2"))
	m := drained(t, l, before)
	if m["lab-r:out qdisc.drops"] != first {
		t.Errorf("qdisc.drops: have %d, want the %d of before", m["lab-r:out qdisc.drops"], first)
	}
	if want := 2*sent - first; m["lab-b:vb rx_packets"] != want {
		t.Errorf("received %d, want %d", m["lab-b:vb rx_packets"], want)
	}

	if err := l.SetTBF(lab.TBF{}); err != nil {
		t.Fatal(err)
	}
	if err := l.SetTBF(lab.TBF{}); err != nil {
		t.Errorf("again: %v", err)
	}
	before = everything(t, l)
	blast(t, l.A(), sent, netip.MustParseAddr("198.18.1.2"))
	if m := drained(t, l, before); m["lab-b:vb rx_packets"] != sent {
		t.Errorf("without tbf: received %d, want %d", m["lab-b:vb rx_packets"], sent)
	}
	err := l.SetTBF(lab.TBF{Rate: 1e6, Burst: 100, Limit: 5000})
	if err == nil || !strings.Contains(err.Error(), "lab-r:out") || !strings.Contains(err.Error(), "need 1514") {
		t.Errorf("burst below a frame: have %v", err)
	}
}

// A burst of just one frame of the MTU must let such frames through, at a rate
// where a microsecond is many bytes.
func TestTBFTakesFullFrames(t *testing.T) {
	l := newLab(t, lab.Config{TBF: lab.TBF{Rate: 1e9, Burst: 1514, Limit: 100000}})
	before := everything(t, l)
	err := l.A().Do(func() error {
		conn, err := net.Dial("udp", "198.18.1.2:9")
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write(make([]byte, 1472))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := drained(t, l, before); m["lab-b:vb rx_bytes"] != 1514 || len(losses(m)) != 0 {
		t.Errorf("a frame of 1514 bytes: %v", m)
	}
}

// The router forwards to every address of the far side, and to any other.
func TestForwardsEveryFlow(t *testing.T) {
	var v4, back []netip.Addr
	for i := range 256 {
		v4 = append(v4, netip.AddrFrom4([4]byte{198, 18, 1, byte(i)}))
		back = append(back, netip.AddrFrom4([4]byte{198, 18, 0, byte(i)}))
	}
	v4 = append(v4[:254], v4[255]) // .254 is the router
	back = append(back[:254], back[255])
	v6 := []netip.Addr{netip.MustParseAddr("2001:2:0:1::")}
	for i := range 256 {
		v6 = append(v6, netip.AddrFrom16([16]byte{0x20, 0x01, 0, 2, 0, 0, 0, 1, 9, 8, 7, 6, 5, 4, 3, byte(i)}))
	}
	foreign4 := []netip.Addr{netip.MustParseAddr("10.102.0.2"), netip.MustParseAddr("192.0.2.1")}
	foreign6 := []netip.Addr{netip.MustParseAddr("2001:db8::1")}

	l := newLab(t, lab.Config{Queues: 2})
	// For the foreign ones the host needs a way, as a sender of raw frames
	// does not.
	for _, e := range []struct {
		host    lab.End
		gateway []lab.End
	}{{l.VA, []lab.End{l.In}}, {l.VB, []lab.End{l.Out}}} {
		err := e.host.NS.Do(func() error {
			link, err := netlink.LinkByName(e.host.Iface)
			if err != nil {
				return err
			}
			return errors.Join(
				netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: e.gateway[0].IPv4.Addr().AsSlice()}),
				netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: e.gateway[0].IPv6.Addr().AsSlice()}))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name     string
		from, to lab.End
		dst      []netip.Addr
	}{
		{"a to b, IPv4", l.VA, l.VB, v4},
		{"a to b, IPv6", l.VA, l.VB, v6},
		{"b to a, IPv4", l.VB, l.VA, back},
		{"a to b, foreign IPv4", l.VA, l.VB, foreign4},
		{"a to b, foreign IPv6", l.VA, l.VB, foreign6},
		{"b to a, foreign IPv4", l.VB, l.VA, foreign4},
		{"b to a, foreign IPv6", l.VB, l.VA, foreign6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := everything(t, l)
			blast(t, tt.from.NS, len(tt.dst), tt.dst...)
			want := uint64(len(tt.dst))
			var m map[string]uint64
			for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				m = moves(before, everything(t, l))
				if m[tt.to.Label()+" rx_packets"] >= want {
					break
				}
			}
			if got := m[tt.to.Label()+" rx_packets"]; got != want {
				t.Errorf("received %d of %d: %v", got, want, m)
			}
			if got := m["lab-r Ip.ForwDatagrams"] + m["lab-r Ip6.OutForwDatagrams"]; got != want {
				t.Errorf("forwarded %d, want %d", got, want)
			}
			if lost := losses(m); len(lost) != 0 {
				t.Errorf("losses: %v", lost)
			}
		})
	}
}

// Nothing is on the wires but what a test sends: not at the start, and no
// answer to datagrams for the hosts' own addresses.
func TestQuiet(t *testing.T) {
	l := newLab(t, lab.Config{})
	p, err := lab.NewPair(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	empty := probe.Reading{}
	for _, c := range everything(t, l).Counters {
		empty.Counters = append(empty.Counters, probe.Counter{Where: c.Where, Name: c.Name, Level: c.Level})
	}
	blast(t, l.A(), 5, l.VB.IPv4.Addr())
	blast(t, l.A(), 5, l.VB.IPv6.Addr())
	// Router solicitations start within a second (RFC 4861 section 6.3.7),
	// group reports are repeated within one (RFC 3810 section 9.11).
	time.Sleep(2500 * time.Millisecond)
	m := moves(empty, everything(t, l))
	for _, e := range []lab.End{l.VA, l.In, l.Out, l.VB} {
		want := uint64(0)
		if e.Iface == "va" || e.Iface == "out" {
			want = 10
		}
		if got := m[e.Label()+" tx_packets"]; got != want {
			t.Errorf("%s sent %d frames, want %d", e.Label(), got, want)
		}
	}
	for _, e := range []lab.End{p.A, p.B} {
		r, err := probe.Link{NS: e.NS, Iface: e.Iface}.Read()
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := r.Value(e.Label(), "tx_packets"); got != 0 || !ok {
			t.Errorf("%s sent %d frames, want 0", e.Label(), got)
		}
	}
}

// A lab that New returned is ready: the first frame arrives. IPv6 addresses are
// the slow ones, each time by another margin.
func TestReadyAtOnce(t *testing.T) {
	for range 8 {
		l := newLab(t, lab.Config{})
		blast(t, l.A(), 1, l.VB.IPv6.Addr())
		var received, refused, delivered uint64
		for deadline := time.Now().Add(time.Minute); received == 0 && time.Now().Before(deadline); {
			r, err := probe.IP{NS: l.B()}.Read()
			if err != nil {
				t.Fatal(err)
			}
			received, _ = r.Value("lab-b", "Ip6.InReceives")
			refused, _ = r.Value("lab-b", "Ip6.InAddrErrors")
			delivered, _ = r.Value("lab-b", "Ip6.InDelivers")
		}
		if refused != 0 || delivered != 1 {
			t.Fatalf("one datagram: %d delivered, %d refused for its address", delivered, refused)
		}
		l.Close()
	}
}

// The hosts' own stacks reach each other: an answer finds its way.
func TestHostsTalk(t *testing.T) {
	l := newLab(t, lab.Config{TBF: lab.TBF{Rate: 100e6, Burst: 10000, Limit: 100000}})
	for _, tt := range []struct{ network, addr string }{{"tcp4", "198.18.1.1:7"}, {"tcp6", "[2001:2:0:1::1]:7"}} {
		t.Run(tt.network, func(t *testing.T) {
			var ln net.Listener
			var err error
			if err := l.B().Do(func() error { ln, err = net.Listen(tt.network, tt.addr); return err }); err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() {
				if c, err := ln.Accept(); err == nil {
					fmt.Fprintf(c, "from %s\n", c.RemoteAddr().(*net.TCPAddr).IP)
					c.Close()
				}
			}()
			var conn net.Conn
			err = l.A().Do(func() error { conn, err = (&net.Dialer{Timeout: time.Minute}).Dial(tt.network, tt.addr); return err })
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			line, err := bufio.NewReader(conn).ReadString('\n')
			want := fmt.Sprintf("from %s\n", conn.LocalAddr().(*net.TCPAddr).IP)
			if line != want || err != nil {
				t.Errorf("have %q and %v, want %q", line, err, want)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	l := newLab(t, lab.Config{Queues: 3, MTU: 9000, GRO: true})
	for _, e := range []lab.End{l.VA, l.In, l.Out, l.VB} {
		checkLink(t, e, 3, 9000, true)
	}
	l = newLab(t, lab.Config{})
	for _, e := range []lab.End{l.VA, l.In, l.Out, l.VB} {
		checkLink(t, e, 1, 1500, false)
	}
	p, err := lab.NewPair(lab.Config{Queues: 2, MTU: 3400, GRO: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	checkLink(t, p.A, 2, 3400, true)
	checkLink(t, p.B, 2, 3400, true)
}

func checkLink(t *testing.T, e lab.End, queues, mtu int, gro bool) {
	t.Helper()
	err := e.NS.Do(func() error {
		link, err := netlink.LinkByName(e.Iface)
		if err != nil {
			return err
		}
		a := link.Attrs()
		if a.NumTxQueues != queues || a.NumRxQueues != queues || a.MTU != mtu || a.HardwareAddr.String() != e.MAC.String() {
			t.Errorf("%s: have %d and %d queues, MTU %d, MAC %s, want %d, %d and %s",
				e.Label(), a.NumTxQueues, a.NumRxQueues, a.MTU, a.HardwareAddr, queues, mtu, e.MAC)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.NS.Command("ethtool", "-k", e.Iface).CombinedOutput()
	want := fmt.Sprintf("generic-receive-offload: %s\n", map[bool]string{true: "on", false: "off"}[gro])
	if err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%s: %v, want %q in\n%s", e.Label(), err, want, out)
	}
}

func TestConfigRefused(t *testing.T) {
	tests := []struct {
		name string
		cfg  lab.Config
		want string
	}{
		{"queues", lab.Config{Queues: -1}, "queues: have -1"},
		{"too many queues", lab.Config{Queues: 5000}, "queues: have 5000"},
		{"small MTU", lab.Config{MTU: 1279}, "MTU: have 1279"},
		{"large MTU", lab.Config{MTU: 65536}, "MTU: have 65536"},
		{"burst without rate", lab.Config{TBF: lab.TBF{Burst: 5000}}, "need a rate"},
		{"rate below a byte", lab.Config{TBF: lab.TBF{Rate: 7, Burst: 5000, Limit: 5000}}, "have 7 bit/s"},
		{"burst below a frame", lab.Config{MTU: 2000, TBF: lab.TBF{Rate: 1e6, Burst: 2013, Limit: 5000}}, "need 2014"},
		{"limit below a frame", lab.Config{TBF: lab.TBF{Rate: 1e6, Burst: 2000, Limit: 1513}}, "need 1514"},
		{"burst of minutes", lab.Config{TBF: lab.TBF{Rate: 8, Burst: 5000, Limit: 5000}}, "too much"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := lab.New(tt.cfg)
			if err == nil {
				l.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("have %v, want an error with %q", err, tt.want)
			}
		})
	}
	for _, cfg := range []lab.Config{{Name: "x"}, {TBF: lab.TBF{Rate: 1e6, Burst: 2000, Limit: 2000}}, {MTU: 1}} {
		if p, err := lab.NewPair(cfg); err == nil {
			p.Close()
			t.Errorf("NewPair(%+v): no error", cfg)
		}
	}
}

func named(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(netns.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), testName()) {
			names = append(names, e.Name())
		}
	}
	return names
}

func testName() string { return fmt.Sprintf("squall-test-%d", os.Getpid()) }

func TestNamed(t *testing.T) {
	name := testName()
	l := newLab(t, lab.Config{Name: name})
	if diff := cmp.Diff([]string{name + "-a", name + "-b", name + "-r"}, named(t)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	r, err := netns.Open(name + "-r")
	if err != nil {
		t.Fatal(err)
	}
	if !r.Same(l.R()) || l.Out.Label() != name+"-r:out" {
		t.Errorf("%s is not the router, or its port is not %s", r, l.Out.Label())
	}
	r.Close()

	_, err = lab.New(lab.Config{Name: name})
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), name+"-a") {
		t.Errorf("second lab of that name: have %v, want %v naming it", err, fs.ErrExist)
	}
	if len(named(t)) != 3 {
		t.Errorf("the second lab touched the first: %q", named(t))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if left := named(t); len(left) != 0 {
		t.Errorf("after Close: %q", left)
	}
}

// A name that is taken in the middle: those made before go again, the taken
// one stays.
func TestNamedHalf(t *testing.T) {
	needRoot(t)
	name := testName()
	other, err := netns.New("other")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := other.Mount(name + "-b"); err != nil {
		t.Fatal(err)
	}
	defer netns.Unmount(name + "-b")
	if l, err := lab.New(lab.Config{Name: name}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("New: have %v, want %v", err, fs.ErrExist)
		if err == nil {
			l.Close()
		}
	}
	if diff := cmp.Diff([]string{name + "-b"}, named(t)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if err := lab.Down(name); err != nil {
		t.Errorf("Down of a half lab: %v", err)
	}
	if err := lab.Down(name); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), name) {
		t.Errorf("second Down: have %v, want %v naming it", err, fs.ErrNotExist)
	}
}

// A leash is a veth from a namespace of the test into one of the lab: it goes
// when that one is freed.
func leash(n *netns.NS, name string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	veth := netlink.NewVeth(attrs)
	veth.PeerName, veth.PeerNamespace = "dog", netlink.NsFd(n.FD())
	return netlink.LinkAdd(veth)
}

func leashAll(l *lab.Lab) error {
	return errors.Join(leash(l.A(), "leash-a"), leash(l.R(), "leash-r"), leash(l.B(), "leash-b"))
}

func links(t *testing.T, ns *netns.NS) int {
	t.Helper()
	var list []netlink.Link
	err := ns.Do(func() (err error) {
		list, err = netlink.LinkList()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func released(t *testing.T, here *netns.NS) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); links(t, here) != 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d links a minute later, want lo alone", links(t, here))
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	for _, name := range []string{"", testName()} {
		l := newLab(t, lab.Config{Name: name, TBF: lab.TBF{Rate: 1e6, Burst: 2000, Limit: 2000}})
		here, err := netns.New("here")
		if err != nil {
			t.Fatal(err)
		}
		defer here.Close()
		if err := here.Do(func() error { return leashAll(l) }); err != nil {
			t.Fatal(err)
		}
		if n := links(t, here); n != 4 {
			t.Fatalf("%d links, want lo and three leashes", n)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		released(t, here)
	}
}

// childEnv makes this test binary a process with a lab that waits for its end.
const childEnv = "SQUALL_LAB_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
	}
	os.Exit(m.Run())
}

func child() {
	l, err := lab.New(lab.Config{})
	if err == nil {
		err = leashAll(l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Println("ready")
	select {}
}

func TestKilledLeavesNothing(t *testing.T) {
	needRoot(t)
	here, err := netns.New("here")
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	before, err := os.ReadDir(netns.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	cmd := here.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("child said %q: %v", line, err)
	}
	if n := links(t, here); n != 4 {
		t.Errorf("%d links, want lo and three leashes", n)
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	released(t, here)
	after, err := os.ReadDir(netns.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if len(after) > len(before) {
		t.Errorf("names under %s: had %d, have %d", netns.Dir, len(before), len(after))
	}
}
