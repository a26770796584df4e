package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"squall/gen"
	"squall/internal/lab"
	"squall/internal/ledger"
	"squall/internal/netns"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/pcaps"
	"squall/replay"
	"squall/scenarios"
)

// The demo's figures. The queue passes 10,000 frames of 64 bytes a second (60
// bytes each, as tc counts) and holds 100 ms of them.
const (
	demoCalm    = "5kpps"
	demoStorm   = "20kpps"
	demoPhase   = 5 * time.Second
	demoFrame   = 60
	demoPassed  = 10_000
	demoCapture = 2000 // frames
	// demoHost is an address behind the router that nobody owns: a host would
	// answer TCP frames to its own.
	demoHost = "198.18.1.2"
)

func newDemo() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "See a storm, drops with their times and a verdict, without hardware",
		Long: `demo makes two hosts and a router in network namespaces, with a queue on the
router's way out that passes 10,000 frames a second:

  lab-a:va ══ lab-r:in   router   lab-r:out (tc tbf) ══ lab-b:vb

It sends a baseline (5,000 frames a second), a storm (20,000) and a return
(5,000), then replays a capture, and reports where every frame went. It takes
about 20 seconds and needs root. Nothing is left behind, however it ends.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return demo(c, &f) },
	}
	f.add(c)
	return c
}

func demo(c *cobra.Command, f *runFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	l, err := lab.New(lab.Config{TBF: lab.TBF{
		Rate:  demoPassed * demoFrame * 8,
		Burst: 10 * 1514,
		Limit: demoPassed / 10 * demoFrame,
	}})
	if err != nil {
		return err
	}
	defer l.Close()
	tx, rx := labRef(l.VA), labRef(l.VB)
	pair, err := scenarios.OpenPair(scenarios.PairConfig{
		TX: tx, RX: &rx, Engine: "packet",
		Namespaces: map[string]*netns.NS{tx.NetNS: l.A(), rx.NetNS: l.B()},
	})
	if err != nil {
		return err
	}
	defer pair.Close()
	phases, err := demoPhases(pair, l, f)
	if err != nil {
		return err
	}
	s := session{flags: f, cmd: c, scenario: []byte("# squall demo: " + demoCalm + ", " + demoStorm + ", " + demoCalm + ", then a replay\n")}
	return s.run(scenarios.Lane{Pair: pair, Config: scenarios.Config{
		Name: "demo", Phases: phases, Probes: l.Probes(), Joined: true, DUT: routerHops(l.R(), l.In.Iface, l.Out.Iface),
	}})
}

func labRef(e lab.End) port.Ref { return port.Ref{NetNS: e.NS.String(), Iface: e.Iface} }

// routerHops is the way through a lab's router, between the two hosts' ports.
func routerHops(ns *netns.NS, in, out string) []ledger.Hop {
	return []ledger.Hop{
		{Kind: ledger.In, Where: ns.Label(in), Driver: "veth"},
		{Kind: ledger.Forward, Where: ns.String()},
		{Kind: ledger.Out, Where: ns.Label(out), Driver: "veth", Joined: true},
	}
}

func demoPhases(pair *scenarios.Pair, l *lab.Lab, f *runFlags) ([]scenarios.Phase, error) {
	none, little := 0.0, 0.001
	var phases []scenarios.Phase
	for i, p := range []struct {
		name, rate string
		loss       *float64
	}{
		{"baseline", demoCalm, &none},
		{"storm", demoStorm, nil},
		// Its first frames may meet the queue that the storm has left full.
		{"return", demoCalm, &little},
	} {
		spec, err := gen.Simple{Name: p.name, Size: "64", Flows: 64, Dst: demoHost, Rate: p.rate, DstMAC: l.In.MAC.String()}.Spec()
		if err != nil {
			return nil, err
		}
		src, err := gen.Compile([]gen.Spec{spec}, target(pair, uint16(i+1)))
		if err != nil {
			return nil, err
		}
		schedule, err := pace.Every(src.Rate)
		if err != nil {
			return nil, err
		}
		phases = append(phases, scenarios.Phase{Name: p.name, Plans: []*plan.Plan{src.Plan}, Asked: p.rate, Schedule: schedule, Duration: demoPhase, MaxLoss: p.loss})
	}
	again, schedule, err := demoReplay(l)
	if err != nil {
		return nil, err
	}
	again.Streams[0].ID = uint16(len(phases) + 1)
	return append(phases, scenarios.Phase{Name: "replay", Plans: []*plan.Plan{again}, Asked: "as captured", Schedule: schedule, Count: again.Pass, MaxLoss: &none}), nil
}

// demoReplay makes a capture of TCP frames of several sizes, in bursts of eight
// each 8 ms, and the plan that replays it.
func demoReplay(l *lab.Lab) (*plan.Plan, pace.Schedule, error) {
	dir, err := os.MkdirTemp("", "squall-demo-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "demo.pcap")
	spec, err := gen.Simple{Name: "capture", Proto: "tcp", Size: "imix", Flows: 16, Tag: "none", Dst: demoHost, TCPFlags: "ack+psh",
		SrcMAC: l.VA.MAC.String(), DstMAC: l.In.MAC.String()}.Spec()
	if err != nil {
		return nil, nil, err
	}
	spec.Vary = []gen.Vary{{Field: "tcp.src", Count: 16, Per: "flow"}, {Field: "ipv4.id", Per: "frame"}}
	src, err := gen.Compile([]gen.Spec{spec}, gen.Target{})
	if err != nil {
		return nil, nil, err
	}
	bursts := pace.Bursts{N: 8, Of: pace.Constant{Frames: 1, Ns: 8e6}}
	if err := writeCapture(context.Background(), path, src.Plan, bursts, demoCapture, 0); err != nil {
		return nil, nil, err
	}
	again, _, err := replay.Compile(path, replay.Options{MTU: 1500})
	if err != nil {
		return nil, nil, err
	}
	schedule, err := replay.Schedule(again, replay.Timing{})
	return again, schedule, err
}

// target is what streams are compiled for that go from one port of the pair to
// the other.
func target(pair *scenarios.Pair, first uint16) gen.Target {
	return gen.Target{
		Run: pair.Run, FirstStream: first,
		SrcMAC: pair.TX.MAC, DstMAC: pair.DstMAC(),
		MTU: pair.TX.MTU, LinkBits: pair.TX.LinkBits,
	}
}

// writeCapture writes the first count frames of a plan, or those due in the
// time, to a capture, each at its due time.
func writeCapture(ctx context.Context, path string, p *plan.Plan, s pace.Schedule, count uint64, d time.Duration) (err error) {
	if count == 0 && (d == 0 || s.Rate() == 0) {
		return errors.New("-w needs --count, or --duration with a rate, or the capture has no end")
	}
	w, err := pcaps.Create(path)
	if err != nil {
		return err
	}
	defer w.Abort()
	start := time.Now().UnixNano()
	frame := make([]byte, p.MaxLen())
	for i := uint64(0); count == 0 || i < count; i++ {
		due := s.Due(i)
		if d > 0 && due >= int64(d) {
			break
		}
		if i%4096 == 0 && ctx.Err() != nil {
			return fmt.Errorf("writing %q: stopped", path)
		}
		n := p.Write(frame, i, start+due)
		if err := w.Write(frame[:n], start+due); err != nil {
			return err
		}
	}
	return w.Close()
}
