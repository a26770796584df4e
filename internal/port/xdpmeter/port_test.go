package xdpmeter

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"squall/internal/lab"
	"squall/internal/meter"
	"squall/internal/netns"
	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/wire"
)

func newPair(t testing.TB, c lab.Config) *lab.Pair {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_BPF")
	}
	p, err := lab.NewPair(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func openPort(t testing.TB, e lab.End) *port.Port {
	t.Helper()
	p, err := port.OpenIn(e.NS, e.Iface)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// socket is a packet socket on an end.
func socket(t testing.TB, e lab.End) int {
	t.Helper()
	var fd int
	err := e.NS.Do(func() (err error) {
		l, err := netlink.LinkByName(e.Iface)
		if err != nil {
			return err
		}
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return err
		}
		t.Cleanup(func() { unix.Close(fd) })
		all := uint16(unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8)
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5}); err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: l.Attrs().Index})
	})
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func send(t testing.TB, fd int, frame []byte) {
	t.Helper()
	if _, err := unix.Write(fd, frame); err != nil {
		t.Fatal(err)
	}
}

// until waits for something that happens soon.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

// attached says which program mode an end has; 0: no program.
func attached(t testing.TB, e lab.End) Mode {
	t.Helper()
	var mode Mode
	err := e.NS.Do(func() error {
		l, err := netlink.LinkByName(e.Iface)
		if err == nil && l.Attrs().Xdp.Attached {
			mode = Mode(l.Attrs().Xdp.AttachMode)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return mode
}

func TestPort(t *testing.T) {
	tests := []struct {
		name    string
		lab     lab.Config
		generic bool
		mode    Mode
		len     int // of the frames, in memory
	}{
		{"native", lab.Config{}, false, Native, 60},
		{"native, two queues", lab.Config{Queues: 2}, false, Native, 60},
		{"native, largest frame of one buffer", lab.Config{MTU: 3506}, false, Native, 3520},
		{"native, several buffers", lab.Config{MTU: 9000}, false, Native, 9014},
		{"generic", lab.Config{}, true, Generic, 60},
		{"generic, 9000 bytes", lab.Config{MTU: 9000}, true, Generic, 9014},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pair := newPair(t, tt.lab)
			tx, rx := socket(t, pair.A), socket(t, pair.B)
			var mu sync.Mutex
			var told []meter.LossPeriod
			p := openPort(t, pair.B)
			m, err := Open(p, Config{Run: run, Generic: tt.generic, Streams: []meter.Config{
				{Stream: 3, OnLoss: func(p meter.LossPeriod) {
					mu.Lock()
					defer mu.Unlock()
					told = append(told, p)
				}},
				{Stream: 9, Window: 1024},
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if m.Mode() != tt.mode || attached(t, pair.B) != tt.mode {
				t.Fatalf("mode %v, the kernel says %v, want %v", m.Mode(), attached(t, pair.B), tt.mode)
			}

			// 100 and 150 of stream 3 are lost, 2000 to 2009 of stream 9, which leave
			// the window; stray, foreign and misdirected frames come between.
			start := pace.Now()
			const sent = 4000
			for q := range uint64(sent) {
				now := pace.Now()
				if q != 100 && q != 150 {
					send(t, tx, udp4(tt.len, wire.Tag{Run: run, Stream: 3, Seq: q, Sent: now}))
				}
				if q < 2000 || q > 2009 {
					send(t, tx, udp4(tt.len, wire.Tag{Run: run, Stream: 9, Seq: q, Sent: now}))
				}
			}
			lldp := set(make([]byte, 60), 12, 0x88, 0xcc)
			other := udp4(60, wire.Tag{Run: run + 1, Stream: 3})
			send(t, tx, lldp)
			send(t, tx, udp4(60, wire.Tag{Run: run, Stream: 4}))
			send(t, tx, other)
			until(t, "all frames", func() bool { return m.Apart().Frames == 2*sent-12+3 })
			until(t, "the loss period", func() bool { mu.Lock(); defer mu.Unlock(); return len(told) == 0 })

			// What is not ours reached the stack, and nothing else did.
			buf := make([]byte, 10_000)
			for _, want := range [][]byte{lldp, other} {
				n, err := unix.Read(rx, buf)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, buf[:n]); diff != "" {
					t.Errorf("frame in the stack (-want +got):\n%s", diff)
				}
			}
			apart := meter.Apart{Frames: 2*sent - 12 + 3, Misdirected: 1, Foreign: 1, Stray: 1,
				Strays: []meter.StrayCount{{EtherType: 0x88cc, Frames: 1}}}
			if diff := cmp.Diff(apart, m.Apart()); diff != "" {
				t.Errorf("apart (-want +got):\n%s", diff)
			}

			three, nine := m.Stream(3), m.Stream(9)
			if l := nine.Live(); l.Received != sent-10 || l.Missing != 10 {
				t.Errorf("live counters of stream 9: %+v", l)
			}
			if r := nine.Report(); r.Lost != 10 || r.LossPattern.Count != 1 || r.Missing != 0 {
				t.Errorf("report of stream 9 before Finish: %+v", r)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			if mode := attached(t, pair.B); mode != 0 {
				t.Errorf("after Close the port has a program in %v mode", mode)
			}
			three.Finish(sent)
			nine.Finish(sent)
			total := Total(three, nine)
			if total.Received != 2*sent-12 || total.Lost != 12 || total.Sent != 2*sent || total.Bytes != (2*sent-12)*uint64(tt.len+4) {
				t.Errorf("received %d, lost %d, sent %d, bytes %d", total.Received, total.Lost, total.Sent, total.Bytes)
			}
			if mu.Lock(); len(told) != 2 || told[0].First != 100 || told[1].First != 150 || told[0].Stream != 3 {
				t.Errorf("loss periods told of stream 3: %+v", told)
			}
			mu.Unlock()
			end := pace.Now()
			for _, p := range total.LossPattern.Periods {
				if p.At < start || p.Until < p.At || p.Until > end {
					t.Errorf("loss period %+v, not between %d and %d", p, start, end)
				}
			}
			if l := total.Latency; l.Count != total.Received || l.Min <= 0 || l.Max > end-start {
				t.Errorf("latency %+v", l)
			}
			if diff := cmp.Diff(apart, m.Apart()); diff != "" {
				t.Errorf("apart after Close (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	pair := newPair(t, lab.Config{})
	p := openPort(t, pair.B)
	good := Config{Run: run, Streams: []meter.Config{{Stream: 3}}}
	tests := []struct {
		name string
		c    Config
		say  string
	}{
		{"no streams", Config{}, "no streams"},
		{"two of one number", Config{Streams: []meter.Config{{Stream: 3}, {Stream: 3}}}, "two streams have the number 3"},
		{"window too small", Config{Streams: []meter.Config{{Window: 512}}}, "have 512"},
		{"window too large", Config{Streams: []meter.Config{{Window: 1 << 23}}}, "at most 4194304"},
		{"another program", good, "has another one"},
	}
	m, err := Open(p, good)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Open(p, tt.c); err == nil || !strings.Contains(err.Error(), tt.say) || !strings.Contains(err.Error(), pair.B.Iface) {
				t.Errorf("error %v, want one with %q", err, tt.say)
			}
		})
	}
	if mode := attached(t, pair.B); mode != Native {
		t.Errorf("mode %v, want %v: the first meter's program is gone", mode, Native)
	}
}

func TestSupports(t *testing.T) {
	good := port.Info{Port: port.Port{Up: true, MTU: 1500}, LinkType: "ether", Driver: "d", XDP: port.XDP{Known: true, Basic: true}}
	tests := []struct {
		name   string
		change func(*port.Info)
		say    string // empty: supported
	}{
		{"good", func(*port.Info) {}, ""},
		{"not Ethernet", func(i *port.Info) { i.LinkType = "loopback" }, `link type "loopback"`},
		{"down", func(i *port.Info) { i.Up = false }, "link is down"},
		{"unknown", func(i *port.Info) { i.XDP = port.XDP{} }, "Linux 6.3"},
		{"no XDP", func(i *port.Info) { i.XDP.Basic = false }, `driver "d" takes no XDP programs`},
		{"largest MTU of one buffer", func(i *port.Info) { i.MTU = 3506 }, ""},
		{"several buffers", func(i *port.Info) { i.MTU = 3520 }, "MTU 3520"},
		{"several buffers allowed", func(i *port.Info) { i.MTU = 9000; i.XDP.Frags = true }, ""},
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_BPF and CAP_NET_ADMIN")
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			i := good
			tt.change(&i)
			err := Supports(i)
			if tt.say == "" && err != nil || tt.say != "" && (err == nil || !strings.Contains(err.Error(), tt.say)) {
				t.Errorf("error %v, want %q", err, tt.say)
			}
		})
	}
	pair := newPair(t, lab.Config{})
	info, err := openPort(t, pair.B).Inspect()
	if err != nil {
		t.Fatal(err)
	}
	if err := Supports(info); err != nil {
		t.Errorf("a veth: %v", err)
	}
}

// TestKilled has a process that counts and is killed: the kernel takes its program
// off the port.
func TestKilled(t *testing.T) {
	if path := os.Getenv("XDPMETER_TEST_NETNS"); path != "" {
		countForever(t, path)
		return
	}
	pair := newPair(t, lab.Config{})
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "XDPMETER_TEST_NETNS="+pair.B.NS.Path())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "counting\n" {
		t.Errorf("the child said %q (%v)", line, err)
	}
	if mode := attached(t, pair.B); mode != Native {
		t.Errorf("mode %v while the child counts, want %v", mode, Native)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Errorf("the child ended with %v", err)
	}
	until(t, "taking the program off", func() bool { return attached(t, pair.B) == 0 })
}

func countForever(t *testing.T, path string) {
	ns, err := netns.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := port.OpenIn(ns, "vb")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(p, Config{Run: run, Streams: []meter.Config{{Stream: 3}}}); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("counting\n")
	select {}
}
