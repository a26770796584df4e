package scenarios

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"squall/gen"
	"squall/internal/lab"
	"squall/internal/ledger"
	"squall/internal/netns"
	"squall/internal/port"
	"squall/internal/port/packet"
	"squall/internal/probe"
)

func TestCableBalances(t *testing.T) {
	tests := []struct {
		name    string
		lab     lab.Config
		streams []gen.Simple
		count   uint64
	}{
		{"one stream", lab.Config{}, []gen.Simple{{Name: "one", Size: "64", Flows: 16, Rate: "20kpps"}}, 4000},
		{"two streams of different rates", lab.Config{}, []gen.Simple{
			{Name: "slow", Size: "64", Rate: "2kpps"}, {Name: "fast", Size: "imix", SrcPort: 7, Rate: "6kpps"},
		}, 4000},
		{"64-byte TCP, no room for a tag", lab.Config{}, []gen.Simple{{Name: "tcp", Proto: "tcp", Size: "64", Flows: 4, Rate: "20kpps"}}, 4000},
		{"two VLAN tags, which the stack refuses", lab.Config{}, []gen.Simple{{Name: "qinq", Size: "128", VLAN: []uint16{10, 20}, Rate: "20kpps"}}, 2000},
		{"an EtherType that nobody knows", lab.Config{}, []gen.Simple{{Name: "raw", Proto: "ethernet", Size: "128", Rate: "20kpps"}}, 2000},
		{"as fast as can be", lab.Config{}, []gen.Simple{{Name: "max", Size: "64"}}, 100_000},
		{"as fast as can be, into a ring of 256", lab.Config{GRO: true}, []gen.Simple{{Name: "max", Size: "64"}}, 100_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newCable(t, tt.lab)
			p := b.open(t, true)
			if !p.Joined() {
				t.Error("the ends of a cable are not joined")
			}
			ph := b.phase(t, p, 1, tt.streams...)
			ph.Count = tt.count
			w := &watcher{}
			r := b.run(t, t.Context(), p, w, ph)
			if len(r.Phases) != 1 || r.Phases[0].Sent != tt.count || r.Stopped {
				t.Fatalf("phases %+v, stopped %v, want one of %d frames", r.Phases, r.Stopped, tt.count)
			}
			if r.Verdict.Result == Fail {
				t.Errorf("verdict %+v", r.Verdict)
			}
			if len(w.samples) == 0 || w.samples[len(w.samples)-1].Sent != tt.count {
				t.Errorf("samples %+v, want the last with all frames", w.samples)
			}
			if retries := r.Phases[0].Retries; retries > 0 {
				t.Logf("%d retries, ledger %+v", retries, r.Ledger)
			}
		})
	}
}

func TestStreamsShareRate(t *testing.T) {
	b := newCable(t, lab.Config{})
	p := b.open(t, true)
	ph := b.phase(t, p, 7, gen.Simple{Name: "one", Rate: "1kpps"}, gen.Simple{Name: "three", Rate: "3kpps", SrcPort: 7})
	ph.Count = 2000
	r := b.run(t, t.Context(), p, nil, ph)
	s := r.Phases[0].Streams
	if len(s) != 2 || s[0].Stream != 7 || s[0].Name != "one" || s[0].Sent != 500 || s[1].Stream != 8 || s[1].Name != "three" || s[1].Sent != 1500 {
		t.Errorf("streams %+v, want 7 with 500 frames and 8 with 1500", s)
	}
	if r.Phases[0].AskedPPS != 4000 {
		t.Errorf("asked %g frames a second, want 4000", r.Phases[0].AskedPPS)
	}
}

func TestOnlySending(t *testing.T) {
	b := newCable(t, lab.Config{})
	p := b.open(t, false)
	ph := b.phase(t, p, 1, gen.Simple{Name: "tx", Size: "64", Rate: "10kpps", Tag: "none"})
	ph.Duration = 300 * time.Millisecond
	r := b.run(t, t.Context(), p, nil, ph)
	x := r.Phases[0]
	if r.RX != "" || x.Sent == 0 || x.Received != 0 || x.Lost != 0 || term(r.Ledger, "squall", ledger.NoReceiver) != x.Sent {
		t.Errorf("result %+v", r)
	}
	if p.DstMAC().String() != "ff:ff:ff:ff:ff:ff" {
		t.Errorf("destination %v without a receiver, want broadcast", p.DstMAC())
	}
}

// What a port refuses is sent again and not lost, though the port counts it as
// dropped: here one whose queue of 8 nobody empties.
func TestRefusedBySender(t *testing.T) {
	needRoot(t)
	ns, err := netns.New("full")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	tap := &netlink.Tuntap{LinkAttrs: netlink.NewLinkAttrs(), Mode: netlink.TUNTAP_MODE_TAP, Flags: netlink.TUNTAP_NO_PI, NonPersist: true, Queues: 1}
	tap.Name = "tap0"
	err = ns.Do(func() error {
		// Nothing but the test is to send.
		if err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0); err != nil && !os.IsNotExist(err) {
			return err
		}
		if err := netlink.LinkAdd(tap); err != nil {
			return err
		}
		if err := netlink.LinkSetTxQLen(tap, 8); err != nil {
			return err
		}
		return netlink.LinkSetUp(tap)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tap.Fds[0].Close() })
	b := bed{tx: lab.End{NS: ns, Iface: "tap0"}, rx: lab.End{NS: ns}}
	p := b.open(t, false)
	ph := b.phase(t, p, 1, gen.Simple{Name: "full", Size: "64", Tag: "none"})
	ph.Duration = 300 * time.Millisecond
	r := b.run(t, t.Context(), p, nil, ph)
	x := r.Phases[0]
	if x.Sent != 8 || x.Retries == 0 || x.Failed != 0 {
		t.Errorf("sent %d, %d retries, %d failed, want 8, some, 0", x.Sent, x.Retries, x.Failed)
	}
	if n := term(r.Ledger, "squall", ledger.NoReceiver); n != 8 || len(r.Ledger.Named) != 1 {
		t.Errorf("ledger %+v, want all 8 without a receiver", r.Ledger)
	}
	want := []ledger.Seen{{Where: "full:tap0", Counter: "tx_dropped", Moved: x.Retries}}
	if diff := cmp.Diff(want, r.Ledger.Moved); diff != "" {
		t.Errorf("counters that moved (-want +got):\n%s", diff)
	}
}

// A storm through a router, then what comes after it: each frame belongs to the
// phase that sent it, and the queue names what is missing, to the frame.
func TestStormIsNamed(t *testing.T) {
	b, l := newRouter(t, lab.Config{TBF: lab.TBF{Rate: 1e6, Burst: 1514, Limit: 20_000}})
	p := b.open(t, true)
	if p.Joined() {
		t.Error("two cables count as one")
	}
	storm := b.phase(t, p, 1, gen.Simple{Name: "storm", Size: "64", Flows: 8})
	storm.Count = 5000
	limit := 0.0
	storm.MaxLoss = &limit
	after := b.phase(t, p, 2, gen.Simple{Name: "return", Size: "64", Rate: "100pps"})
	after.Count = 30
	qdisc := probe.Qdisc{NS: l.R(), Iface: l.Out.Iface}
	before, err := qdisc.Read()
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{}
	r := b.run(t, t.Context(), p, w, storm, after)
	left, err := qdisc.Read()
	if err != nil {
		t.Fatal(err)
	}
	var drops uint64
	for _, c := range probe.Delta(before, left) {
		if c.Name == "qdisc.drops" {
			drops = c.Moved
		}
	}
	if n := term(r.Ledger, l.Out.Label(), "qdisc.drops"); drops == 0 || n != drops {
		t.Errorf("ledger has %d drops of the queue, which counted %d", n, drops)
	}
	if r.Phases[0].Sent != 5000 || r.Phases[1].Sent != 30 {
		t.Errorf("sent %d and %d, want 5000 and 30", r.Phases[0].Sent, r.Phases[1].Sent)
	}
	if r.Verdict.Result == Pass {
		t.Errorf("verdict %+v with losses above the limit", r.Verdict)
	}
	var told uint64
	for _, e := range w.of(EventLoss) {
		told += e.Frames
		if e.Until == nil || e.Until.Before(e.Time) {
			t.Errorf("event %+v ends before it begins", e)
		}
	}
	if lost := r.Phases[0].Lost + r.Phases[1].Lost; told != lost {
		t.Errorf("events tell of %d lost frames, want %d", told, lost)
	}
	for _, x := range r.Phases[0].Bursts {
		if x.At.Before(r.Started) || x.At.After(time.Now()) {
			t.Errorf("burst at %v, the run began at %v", x.At, r.Started)
		}
	}
}

// Whatever a router refuses, one of its counters names it.
func TestRouterRefuses(t *testing.T) {
	const sent = 200
	tests := []struct {
		name    string
		stream  gen.Simple
		where   string
		counter string
	}{
		{"IPv4 at the end of its life", gen.Simple{TTL: 1}, "lab-r", "Ip.InHdrErrors"},
		{"IPv6 at the end of its life", gen.Simple{Dst: "2001:2:0:1::2", TTL: 1}, "lab-r", "Ip6.InHdrErrors"},
		// Two counters, one loss.
		{"IPv6 too long for what is behind", gen.Simple{Dst: "2001:2:0:1::2", Size: "1400"}, "lab-r", "Ip6.InTooBigErrors"},
		{"nothing to do with IP", gen.Simple{Proto: "ethernet", Size: "128"}, "lab-r:in", "rx_dropped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, l := newRouter(t, lab.Config{})
			if strings.HasPrefix(tt.counter, "Ip6") && !l.VA.IPv6.IsValid() {
				t.Skip("a kernel without IPv6")
			}
			set(t, l.Out, func(link netlink.Link) error { return netlink.LinkSetMTU(link, 1280) })
			p := b.open(t, true)
			s := tt.stream
			s.Name, s.Rate = "refused", "1kpps"
			ph := b.phase(t, p, 1, s)
			ph.Count = sent
			r := b.run(t, t.Context(), p, nil, ph)
			if n := term(r.Ledger, tt.where, tt.counter); n != sent || len(r.Ledger.Named) != 1 {
				t.Errorf("%s %s names %d frames, want %d and nothing else: %+v", tt.where, tt.counter, n, sent, r.Ledger)
			}
			// Nothing arrived, so the time of its loss is that of its sending.
			if x := r.Phases[0].Bursts; len(x) != 1 || x[0].At.Before(r.Started) || x[0].At.After(time.Now()) || x[0].Seconds <= 0 {
				t.Errorf("bursts %+v, want one since %v", x, r.Started)
			}
		})
	}
}

// Linux counts no martian sources: the ledger can only say where they went.
func TestNobodyCounts(t *testing.T) {
	b, _ := newRouter(t, lab.Config{})
	p := b.open(t, true)
	ph := b.phase(t, p, 1, gen.Simple{Name: "martian", Src: "0.0.0.0", Rate: "1kpps"})
	ph.Count = 200
	c := b.config
	c.Phases = []Phase{ph}
	r, err := Run(t.Context(), p, c)
	if err != nil {
		t.Fatal(err)
	}
	want := []ledger.Gap{{From: "lab-r:in rx_packets", To: "lab-r:out tx_packets", Before: 200}}
	if diff := cmp.Diff(want, r.Ledger.Gaps); diff != "" || r.Ledger.Unexplained != 200 || len(r.Ledger.Named) != 0 {
		t.Errorf("ledger %+v, gaps (-want +got):\n%s", r.Ledger, diff)
	}
	if r.Verdict.Result == Pass {
		t.Errorf("verdict %+v with frames unexplained", r.Verdict)
	}
}

func TestStopped(t *testing.T) {
	b := newCable(t, lab.Config{})
	p := b.open(t, true)
	ph := b.phase(t, p, 1, gen.Simple{Name: "endless", Size: "64", Rate: "5kpps"})
	never := b.phase(t, p, 2, gen.Simple{Name: "never", Size: "64", Rate: "5kpps"})
	never.Count = 1
	ctx, cancel := context.WithCancel(t.Context())
	w := &watcher{begun: func(string) { time.AfterFunc(1200*time.Millisecond, cancel) }}
	r := b.run(t, ctx, p, w, ph, never)
	if !r.Stopped || len(r.Phases) != 1 || r.Phases[0].Sent == 0 {
		t.Errorf("stopped %v, phases %+v, want one with frames", r.Stopped, r.Phases)
	}
	if r.Verdict.Result == Fail {
		t.Errorf("verdict %+v", r.Verdict)
	}
	if len(w.of(EventStop)) != 1 || len(w.of(EventError)) != 0 {
		t.Errorf("events %+v, want one stop and no error", w.events)
	}
	if len(w.samples) < 2 || w.samples[0].Sent == 0 || w.samples[0].PPS == 0 {
		t.Errorf("samples %+v, want one a second and the last", w.samples)
	}
}

// Another run on the same port is told apart, and does not keep this one from
// ending.
func TestForeignFrames(t *testing.T) {
	b := newCable(t, lab.Config{})
	other := b.open(t, false)
	p := b.open(t, true)
	if other.Run == p.Run {
		other.Run++
	}
	noise := b.phase(t, other, 1, gen.Simple{Name: "other", Size: "64", Rate: "500pps"})
	noise.Duration = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := Run(ctx, other, Config{Phases: []Phase{noise}}); err != nil {
			t.Error(err)
		}
	})
	ph := b.phase(t, p, 1, gen.Simple{Name: "ours", Size: "64", Rate: "5kpps"})
	ph.Count = 1000
	start := time.Now()
	r := b.run(t, t.Context(), p, nil, ph)
	took := time.Since(start)
	cancel()
	all.Wait()
	if r.Foreign == 0 || r.Phases[0].Foreign == 0 || r.Phases[0].Sent != 1000 {
		t.Errorf("foreign %d, of the phase %d, want some", r.Foreign, r.Phases[0].Foreign)
	}
	if took > settleMost {
		t.Errorf("a run of 0.2 s took %v beside another", took)
	}
}

// slow takes its time with every block.
type slow struct{ port.BatchReader }

func (s slow) Receive(wait time.Duration) ([]port.Frame, error) {
	time.Sleep(20 * time.Millisecond)
	return s.BatchReader.Receive(wait)
}

func TestReceiverOverloadIsVoid(t *testing.T) {
	b := newCable(t, lab.Config{})
	was := engines
	t.Cleanup(func() { engines = was })
	engines = slices.Clone(was)
	e, _ := known("packet")
	e.reader = func(p *port.Port) (port.BatchReader, error) {
		r, err := packet.OpenReader(p, packet.ReaderConfig{BlockSize: 16 << 10, Blocks: 2})
		return slow{r}, err
	}
	p := b.open(t, true)
	ph := b.phase(t, p, 1, gen.Simple{Name: "over", Size: "64"})
	ph.Count = 5000
	r := b.run(t, t.Context(), p, nil, ph)
	if term(r.Ledger, r.RX, ledger.RingDrops) == 0 || r.Verdict.Result != Void || !strings.Contains(r.Verdict.Reasons[0], "receiver") {
		t.Errorf("ledger %+v, verdict %+v, want void for the receiver", r.Ledger, r.Verdict)
	}
}

// A probe that fails is told, and the run goes on.
func TestProbeFails(t *testing.T) {
	b := newCable(t, lab.Config{})
	p := b.open(t, true)
	ph := b.phase(t, p, 1, gen.Simple{Name: "short", Size: "64", Rate: "5kpps"})
	ph.Count = 10
	b.config.Probes = []probe.Probe{probe.Link{NS: b.tx.NS, Iface: "gone"}}
	r := b.run(t, t.Context(), p, nil, ph)
	if len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0], "gone") {
		t.Errorf("warnings %q, want one for each reading", r.Warnings)
	}
}
