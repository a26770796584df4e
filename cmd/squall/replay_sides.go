package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"squall/internal/ledger"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/replay"
	"squall/replay/lockstep"
	"squall/replay/sides"
	"squall/scenarios"
)

// sidesFlags say how a capture is replayed from two ports.
type sidesFlags struct {
	client, server string
	nets           []string
	mode           string
	ipOnly         bool
	learn          bool
	giveUp         time.Duration
	retries        int
	goOn           bool
	window         int
	macs           [2]string // where each side sends to
}

func (f *sidesFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.client, "client", "", "port that clients' frames leave from, `[NETNS:]IFACE`, with --server and instead of --tx and --rx")
	fs.StringVar(&f.server, "server", "", "port that servers' frames leave from, `[NETNS:]IFACE`")
	fs.StringArrayVar(&f.nets, "client-net", nil, "addresses in `CIDR` are clients; repeatable (default: who opened the conversation)")
	fs.StringVar(&f.mode, "mode", "timed", "two ports: `timed|lockstep`; timed keeps the capture's times, lockstep waits for what comes before in a conversation to arrive")
	fs.BoolVar(&f.ipOnly, "ip-only", false, "two ports: leave out frames without IP, such as ARP, which no router forwards; lockstep always does")
	fs.BoolVar(&f.learn, "learn", false, "lockstep through a NAT: follow the translated addresses and ports")
	fs.DurationVar(&f.giveUp, "give-up", 200*time.Millisecond, "lockstep: how long a frame may take, retries included")
	fs.IntVar(&f.retries, "retries", 3, "lockstep: send a lost frame again so many times, at even distances in --give-up")
	fs.BoolVar(&f.goOn, "go-on", false, "lockstep: go on with a conversation after a frame was given up, instead of abandoning it")
	fs.IntVar(&f.window, "window", 64, "lockstep: at most so many frames under way from each port")
	fs.StringVar(&f.macs[sides.Client], "client-dmac", "", "destination `MAC` of what leaves from the client's port (default the port's gateway by route and neighbour table, else the other port)")
	fs.StringVar(&f.macs[sides.Server], "server-dmac", "", "destination `MAC` of what leaves from the server's port (default likewise)")
}

// given reports whether two sides are asked for.
func (f *sidesFlags) given() bool { return f.client != "" || f.server != "" }

// check refuses what does not go together, before anything is opened.
func (f *sidesFlags) check(c *cobra.Command, pair *pairFlags) error {
	if !f.given() {
		for _, name := range []string{"client-net", "mode", "ip-only", "learn", "give-up", "retries", "go-on", "window", "client-dmac", "server-dmac"} {
			if c.Flags().Changed(name) {
				return fmt.Errorf("--%s is for two ports: give --client and --server", name)
			}
		}
		return nil
	}
	switch {
	case f.client == "" || f.server == "":
		return errors.New("--client and --server: give both")
	case len(pair.tx)+len(pair.rx) > 0:
		return errors.New("--client and --server say which ports are used: leave out --tx and --rx")
	case pair.cores != 1:
		return errors.New("--cores: each side of a replay has one")
	case f.mode != "timed" && f.mode != "lockstep":
		return fmt.Errorf("--mode %q: have timed and lockstep", f.mode)
	}
	if f.mode == "timed" {
		for _, name := range []string{"learn", "give-up", "retries", "go-on", "window"} {
			if c.Flags().Changed(name) {
				return fmt.Errorf("--%s is for --mode lockstep: in time nothing waits for arrivals", name)
			}
		}
		return nil
	}
	switch {
	case c.Flags().Changed("rx-engine"):
		return errors.New("--rx-engine: lockstep sends and receives with one --engine")
	case f.giveUp < time.Millisecond:
		return fmt.Errorf("--give-up %v: need 1ms or more", f.giveUp)
	case f.retries < 0 || f.retries > 255:
		return fmt.Errorf("--retries %d: need 0 to 255", f.retries)
	case f.window < 1:
		return fmt.Errorf("--window %d: need 1 or more", f.window)
	}
	return nil
}

// script is what leaves from two ports.
type script struct {
	plan *plan.Plan
	// schedule is that of the whole plan, asked the user's words for it.
	schedule pace.Schedule
	asked    string
	passes   uint64 // 0: until duration is over, or the user stops it
	duration time.Duration
	notes    []string // for the report
}

// script makes the plan of what goes over a pair of ports, both ways.
func (f *replayFlags) script(paths []string, pair *scenarios.Pair) (*script, *scenarios.Capture, error) {
	o, loops, err := f.options(pair)
	if err != nil {
		return nil, nil, err
	}
	o.MTU = min(pair.TX.MTU, pair.RX.MTU)
	p, sum, err := replay.CompileAll(paths, o)
	if err != nil {
		return nil, nil, err
	}
	if sum.Spooled {
		return nil, nil, fmt.Errorf("%s: two sides need all frames in memory, %d MiB: raise --preload-limit, or replay a part of it", strings.Join(paths, ", "), sum.Bytes>>20)
	}
	t, err := f.timing(pair)
	if err != nil {
		return nil, nil, err
	}
	t.Link = linkOf(pair.TX, pair.RX)
	schedule, err := replay.Schedule(p, t)
	if err != nil {
		return nil, nil, err
	}
	return &script{plan: p, schedule: schedule, asked: f.asked(), passes: loops, duration: f.duration, notes: captureNotes(paths, &sum)},
		scenarios.CaptureOf(paths, &sum), nil
}

// twoSides replays from two ports.
func (f *replayFlags) twoSides(c *cobra.Command, paths []string) error {
	options, err := f.sides.options()
	if err != nil {
		return err
	}
	there, back, err := f.sides.open(&f.pair)
	if err != nil {
		return err
	}
	pairs := []*scenarios.Pair{there, back}
	defer closeAll(pairs)
	if err := f.sides.address(&options, there); err != nil {
		return err
	}
	r, capture, err := f.script(paths, there)
	if err != nil {
		return err
	}
	lanes := make([]scenarios.Lane, 0, len(pairs))
	for _, p := range pairs {
		conf, done := config("replay", p)
		defer done()
		for i := range conf.DUT {
			conf.DUT[i].Shared = conf.DUT[i].Kind == ledger.Forward
		}
		lanes = append(lanes, scenarios.Lane{Pair: p, Config: conf})
	}
	lanes[0].Config.Warnings, lanes[0].Config.Capture = r.notes, capture
	s := &session{flags: &f.run, cmd: c, scenario: []byte("# " + strings.Join(os.Args, " ") + "\n")}
	if f.sides.mode == "lockstep" {
		return f.sides.lockstep(s, lanes, r, options)
	}
	return f.sides.timed(s, lanes, r, options)
}

// timed replays both sides on the capture's clock.
func (f *sidesFlags) timed(s *session, lanes []scenarios.Lane, r *script, o sides.Options) error {
	parts, err := sides.Split(r.plan, o)
	if err != nil {
		return err
	}
	if !s.cmd.Flags().Changed("catch-up") {
		// A side that gave up some of its schedule would no longer fit the other.
		s.flags.catchUp = time.Hour
	}
	notes := r.notes
	if parts.Without > 0 {
		what := "leave from the side that their source MAC address was seen on; no router forwards them (--ip-only leaves them out)"
		if o.IPOnly {
			what = "left out (--ip-only)"
		}
		notes = append(notes, fmt.Sprintf("%d frames without IP %s", parts.Without, what))
	}
	var used []scenarios.Lane
	for k, p := range parts.Plans {
		if p == nil {
			notes = append(notes, fmt.Sprintf("no frame leaves from the %v's side", sides.Side(k)))
			continue
		}
		p.Streams[0].ID = uint16(k) + 1
		lanes[k].Config.Phases = []scenarios.Phase{{
			Name: "replay", Plans: []*plan.Plan{p}, Schedule: parts.Schedule(sides.Side(k), r.plan, r.schedule), Asked: r.asked,
			Count: p.Pass * r.passes, Duration: r.duration, MaxLoss: s.flags.loss(),
		}}
		used = append(used, lanes[k])
	}
	used[0].Config.Warnings, used[0].Config.Capture = notes, lanes[0].Config.Capture
	return s.run(used...)
}

// lockstep replays in lockstep.
func (f *sidesFlags) lockstep(s *session, lanes []scenarios.Lane, r *script, o sides.Options) error {
	play, err := lockstep.Compile(r.plan, o, f.learn)
	if err != nil {
		return err
	}
	l := scenarios.Lockstep{Script: play, Asked: "lockstep", MaxLoss: s.flags.loss(), Play: lockstep.Options{
		Passes: int(r.passes), Duration: r.duration, GiveUp: f.giveUp, Retries: f.retries, GoOn: f.goOn, Window: f.window,
	}}
	if r.passes == 0 {
		l.Play.Passes = -1
	}
	if f.retries == 0 {
		l.Play.Retries = -1
	}
	if fs := s.cmd.Flags(); fs.Changed("speed") || fs.Changed("rate") {
		l.Play.Schedule, l.Asked = r.schedule, "lockstep, "+r.asked
	}
	if err := scenarios.EngageLockstep([2]*scenarios.Pair{lanes[0].Pair, lanes[1].Pair}); err != nil {
		return err
	}
	return s.keep(func(ctx context.Context, lanes []scenarios.Lane) (*scenarios.Result, error) {
		return scenarios.RunLockstep(ctx, [2]scenarios.Lane(lanes), l)
	}, lanes)
}

// options reads what the flags say of the sides.
func (f *sidesFlags) options() (o sides.Options, err error) {
	o.IPOnly = f.ipOnly
	for _, n := range f.nets {
		p, err := netip.ParsePrefix(n)
		if err != nil {
			return o, fmt.Errorf("--client-net %q: need an address and a length, as 192.0.2.0/24", n)
		}
		o.ClientNet = append(o.ClientNet, p.Masked())
	}
	for k, text := range f.macs {
		if text == "" {
			continue
		}
		if o.MACs[k].Dst, err = net.ParseMAC(text); err != nil || len(o.MACs[k].Dst) != 6 {
			return o, fmt.Errorf("--%v-dmac %q: need a MAC address, as 02:00:00:00:00:01", sides.Side(k), text)
		}
	}
	return o, nil
}

// address gives each side the addresses that its frames have in the Ethernet header.
func (f *sidesFlags) address(o *sides.Options, p *scenarios.Pair) error {
	ports := [2]*port.Port{p.TX, p.RX}
	for k, from := range ports {
		o.MACs[k].Src = from.MAC
		if o.MACs[k].Dst != nil {
			continue
		}
		mac, _, ok, err := from.NextHop()
		if err != nil {
			return err
		}
		if !ok {
			mac = ports[1-k].MAC
		}
		o.MACs[k].Dst = mac
	}
	return nil
}

// open opens the way from the client's port to the server's, and the way back.
func (f *sidesFlags) open(pair *pairFlags) (there, back *scenarios.Pair, err error) {
	one := *pair
	one.tx, one.rx = []string{f.client, f.server}, []string{f.server, f.client}
	pairs, err := one.open()
	if err != nil {
		return nil, nil, err
	}
	return pairs[0], pairs[1], nil
}

// linkOf returns the speed of the slower port, or of the one that says.
func linkOf(a, b *port.Port) uint64 {
	if a.LinkBits == 0 || b.LinkBits == 0 {
		return max(a.LinkBits, b.LinkBits)
	}
	return min(a.LinkBits, b.LinkBits)
}
