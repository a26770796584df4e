package scenarios

import (
	"strings"
	"testing"
	"time"

	"squall/gen"
	"squall/internal/lab"
	"squall/internal/netns"
	"squall/internal/plan"
	"squall/internal/port"
)

// with opens the bed's ports with engines of one's choice.
func (b bed) with(t *testing.T, c PairConfig) *Pair {
	t.Helper()
	c.TX = port.Ref{NetNS: b.tx.NS.String(), Iface: b.tx.Iface}
	rx := port.Ref{NetNS: b.rx.NS.String(), Iface: b.rx.Iface}
	c.RX = &rx
	if c.Namespaces == nil {
		c.Namespaces = map[string]*netns.NS{}
	}
	c.Namespaces[b.tx.NS.String()], c.Namespaces[b.rx.NS.String()] = b.tx.NS, b.rx.NS
	p, err := OpenPair(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// Whatever sends and whatever counts, the account is the same.
func TestEngines(t *testing.T) {
	for _, sends := range []string{"packet", "xdp", "live"} {
		for _, counts := range []string{"packet", "xdp", "live"} {
			t.Run(sends+" to "+counts, func(t *testing.T) {
				b := newCable(t, lab.Config{})
				p := b.with(t, PairConfig{Engine: sends, Receiver: counts})
				ph := b.phase(t, p, 1, gen.Simple{Name: "s", Size: "imix", Flows: 7, Rate: "5kpps"})
				ph.Count = 2000
				r := b.run(t, t.Context(), p, nil, ph)
				if x := r.Phases[0]; x.Sent != 2000 || x.Received != 2000 || x.Latency.P50 <= 0 || x.Engine != sends || p.Receiver != counts {
					t.Errorf("engine %s, receiver %s: phase %+v, want 2000 sent and received, with their latency", p.Engine, p.Receiver, x)
				}
			})
		}
	}
}

func TestAuto(t *testing.T) {
	tests := []struct {
		name             string
		stream           gen.Simple
		engine, receiver string
		why              string
	}{
		{"tagged frames", gen.Simple{Name: "s", Size: "64"}, "live", "live", ""},
		{"no room for a tag", gen.Simple{Name: "s", Size: "64", Proto: "tcp"}, "live", "packet", "no tag"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newCable(t, lab.Config{})
			p := b.with(t, PairConfig{})
			tt.stream.Rate = "5kpps"
			ph := b.phase(t, p, 1, tt.stream)
			ph.Count = 500
			r := b.run(t, t.Context(), p, nil, ph)
			if p.Engine != tt.engine || p.Receiver != tt.receiver || !strings.Contains(p.ReceiverWhy, tt.why) {
				t.Errorf("engine %s (%s), receiver %s (%s), want %s and %s", p.Engine, p.Why, p.Receiver, p.ReceiverWhy, tt.engine, tt.receiver)
			}
			if x := r.Phases[0]; x.Sent != 500 || x.Received != 500 {
				t.Errorf("sent %d, received %d, want 500", x.Sent, x.Received)
			}
		})
	}
}

// Two cores have streams of their own, and together they keep to the rate.
func TestCores(t *testing.T) {
	for _, sends := range []string{"packet", "live"} {
		t.Run(sends, func(t *testing.T) {
			b := newCable(t, lab.Config{Queues: 2})
			p := b.with(t, PairConfig{Engine: sends, Cores: 2})
			ph := b.phase(t, p, 1, gen.Simple{Name: "s", Size: "64", Rate: "10kpps"})
			second := b.phase(t, p, 2, gen.Simple{Name: "s", Size: "64", Rate: "10kpps"})
			ph.Plans = []*plan.Plan{ph.Plans[0], second.Plans[0]}
			ph.Count = 3001
			r := b.run(t, t.Context(), p, nil, ph)
			x := r.Phases[0]
			if x.Sent != 3001 || x.Received != 3001 || len(x.Streams) != 2 || x.Streams[0].Sent != 1501 || x.Streams[1].Sent != 1500 {
				t.Errorf("phase %+v, want 3001 frames in streams of 1501 and 1500", x)
			}
			if want := 0.3; x.Seconds < want*0.999 {
				t.Errorf("%v s for 3001 frames at 10,000 a second, want %v at least", x.Seconds, want)
			}
		})
	}
}

// A router's queue that overflows is named whoever counts.
func TestLiveThroughRouter(t *testing.T) {
	b, l := newRouter(t, lab.Config{TBF: lab.TBF{Rate: 960_000, Burst: 1514, Limit: 6000}})
	p := b.with(t, PairConfig{Engine: "live", Namespaces: map[string]*netns.NS{l.R().String(): l.R()}})
	ph := b.phase(t, p, 1, gen.Simple{Name: "storm", Size: "64", Flows: 16, Rate: "6kpps"})
	ph.Duration = time.Second
	r := b.run(t, t.Context(), p, nil, ph)
	drops := term(r.Ledger, "lab-r:out", "qdisc.drops")
	if x := r.Phases[0]; drops == 0 || drops != x.Lost || x.Lost+x.Received != x.Sent {
		t.Errorf("qdisc.drops %d, lost %d of %d, want them named to the frame", drops, x.Lost, x.Sent)
	}
}

// Engaged by the command line or by Run, it happens once.
func TestEngageOnce(t *testing.T) {
	b := newCable(t, lab.Config{})
	p := b.open(t, false)
	ph := b.phase(t, p, 1, gen.Simple{Name: "s", Size: "64", Rate: "5kpps"})
	ph.Count = 10
	if err := p.Engage([]Phase{ph}); err != nil {
		t.Fatal(err)
	}
	if r := b.run(t, t.Context(), p, nil, ph); r.Phases[0].Sent != 10 {
		t.Errorf("sent %d, want 10", r.Phases[0].Sent)
	}
}
