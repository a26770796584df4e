package scenarios

import (
	"context"
	"os"
	"sync"
	"testing"

	"squall/gen"
	"squall/internal/lab"
	"squall/internal/ledger"
	"squall/internal/netns"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
)

// bed is two ports and what is between them.
type bed struct {
	tx, rx lab.End
	config Config // DUT, Probes and Joined
	dst    string // MAC and IPv4 address that frames are sent to
	ip     string
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW")
	}
}

// newCable is one cable.
func newCable(t *testing.T, c lab.Config) bed {
	t.Helper()
	needRoot(t)
	p, err := lab.NewPair(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return bed{tx: p.A, rx: p.B, config: Config{Joined: true}, dst: p.B.MAC.String()}
}

// newRouter is a lab.
func newRouter(t *testing.T, c lab.Config) (bed, *lab.Lab) {
	t.Helper()
	needRoot(t)
	l, err := lab.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return bed{tx: l.VA, rx: l.VB, dst: l.In.MAC.String(), ip: "198.18.1.2", config: Config{
		Joined: true, Probes: l.Probes(),
		DUT: []ledger.Hop{
			{Kind: ledger.In, Where: l.In.Label(), Driver: "veth"},
			{Kind: ledger.Forward, Where: l.R().String()},
			{Kind: ledger.Out, Where: l.Out.Label(), Driver: "veth", Joined: true},
		},
	}}, l
}

// open opens the ports, for a sender only where rx is false.
func (b bed) open(t *testing.T, rx bool) *Pair {
	t.Helper()
	ref := func(e lab.End) port.Ref { return port.Ref{NetNS: e.NS.String(), Iface: e.Iface} }
	c := PairConfig{TX: ref(b.tx), Engine: "packet", Namespaces: map[string]*netns.NS{b.tx.NS.String(): b.tx.NS, b.rx.NS.String(): b.rx.NS}}
	if r := ref(b.rx); rx {
		c.RX = &r
	}
	p, err := OpenPair(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// phase compiles streams. Without a rate they go as fast as they can.
func (b bed) phase(t *testing.T, p *Pair, first uint16, streams ...gen.Simple) Phase {
	t.Helper()
	var specs []gen.Spec
	for _, s := range streams {
		s.DstMAC = b.dst
		if s.Dst == "" && s.Proto != "ethernet" {
			s.Dst = b.ip
		}
		spec, err := s.Spec()
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, spec)
	}
	src, err := gen.Compile(specs, gen.Target{Run: p.Run, FirstStream: first, SrcMAC: p.TX.MAC, DstMAC: p.DstMAC(), MTU: p.TX.MTU})
	if err != nil {
		t.Fatal(err)
	}
	ph := Phase{Name: streams[0].Name, Plans: []*plan.Plan{src.Plan}, Asked: "max", Schedule: pace.Max{}}
	if src.Rate != nil {
		if ph.Schedule, err = pace.Every(src.Rate); err != nil {
			t.Fatal(err)
		}
	}
	return ph
}

// run runs phases and checks that the account balances.
func (b bed) run(t *testing.T, ctx context.Context, p *Pair, o Observer, phases ...Phase) *Result {
	t.Helper()
	c := b.config
	c.Name, c.Phases, c.Observer = t.Name(), phases, o
	r, err := Run(ctx, p, c)
	if err != nil {
		t.Fatal(err)
	}
	balanced(t, r)
	if t.Failed() {
		t.Logf("ledger: %+v", r.Ledger)
	}
	return r
}

// balanced checks all sums of a result.
func balanced(t *testing.T, r *Result) {
	t.Helper()
	var sent, received, lost uint64
	for _, p := range r.Phases {
		sent, received, lost = sent+p.Sent, received+p.Received, lost+p.Lost
		if r.RX == "" {
			continue
		}
		if p.Sent != p.Received+p.Lost {
			t.Errorf("phase %s: sent %d, received %d + lost %d", p.Name, p.Sent, p.Received, p.Lost)
		}
		var of uint64
		for _, s := range p.Streams {
			of += s.Sent
		}
		if of != p.Sent {
			t.Errorf("phase %s: its streams sent %d, the phase %d", p.Name, of, p.Sent)
		}
		if n := burstFrames(p); p.BurstCount <= burstsKept && n != p.Lost {
			t.Errorf("phase %s: bursts lost %d, the phase %d", p.Name, n, p.Lost)
		}
		var periods uint64
		for _, l := range p.LossPeriods {
			periods += l.Frames
		}
		if p.LossPeriodCount <= periodsKept && periods != p.Lost {
			t.Errorf("phase %s: loss periods have %d frames, want %d", p.Name, periods, p.Lost)
		}
	}
	l := r.Ledger
	if l.Sent != sent || l.Received != received {
		t.Errorf("ledger has %d sent, %d received, the phases %d, %d", l.Sent, l.Received, sent, received)
	}
	if n := named(l); r.RX != "" && uint64(int64(n)+l.Unexplained) != lost {
		t.Errorf("ledger names %d and leaves %d, the phases lost %d", n, l.Unexplained, lost)
	}
	if l.Unexplained != 0 {
		t.Errorf("unexplained is %d, want 0", l.Unexplained)
	}
}

func named(l ledger.Ledger) (n uint64) {
	for _, t := range l.Named {
		n += t.Frames
	}
	return n
}

func term(l ledger.Ledger, where, counter string) uint64 {
	for _, t := range l.Named {
		if t.Where == where && t.Counter == counter {
			return t.Frames
		}
	}
	return 0
}

func burstFrames(p PhaseResult) (n uint64) {
	for _, b := range p.Bursts {
		n += b.Frames
	}
	return n
}

// watcher keeps what it is told, and does something when a phase begins.
type watcher struct {
	mu      sync.Mutex
	samples []Sample
	events  []Event
	begun   func(phase string)
}

func (w *watcher) Sample(s Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples = append(w.samples, s)
}

func (w *watcher) Event(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	if e.Event == EventPhase && w.begun != nil {
		w.begun(e.Phase)
	}
}

func (w *watcher) of(kind string) (es []Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Event == kind {
			es = append(es, e)
		}
	}
	return es
}
