package scenarios

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/gen"
	"squall/internal/impair"
	"squall/internal/lab"
	"squall/internal/meter"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/pcaps"
	"squall/replay"
)

// impairedPhase compiles streams that are impaired together.
func (b bed) impairedPhase(t *testing.T, p *Pair, count uint64, rules []string, streams ...gen.Simple) Phase {
	t.Helper()
	var specs []gen.Spec
	for _, s := range streams {
		s.DstMAC, s.Dst = b.dst, b.ip
		spec, err := s.Spec()
		if err != nil {
			t.Fatal(err)
		}
		spec.Impair, spec.Seed = rules, 5
		specs = append(specs, spec)
	}
	src, err := gen.Compile(specs, gen.Target{Run: p.Run, FirstStream: 1, SrcMAC: p.TX.MAC, DstMAC: p.DstMAC(), MTU: p.TX.MTU})
	if err != nil {
		t.Fatal(err)
	}
	return Phase{Name: "wrong", Plans: []*plan.Plan{src.Plan}, Asked: "20kpps", Schedule: pace.Constant{Frames: 20, Ns: 1e6}, Count: count}
}

// byHand works out what a receiver must find by the definitions: for each stream,
// from the frames that leave, one by one.
func byHand(p *plan.Plan, n uint64) (want Arrivals) {
	var extents uint64
	for k, s := range p.Streams {
		here := map[uint64]bool{}
		var first []uint64
		for i := range n {
			of, j := p.Entry(i)
			switch {
			case of != s:
			case here[j]:
				want.Duplicated++
			default:
				from := max(0, len(first)-2000) // nothing is held longer
				if e := slices.IndexFunc(first[from:], func(q uint64) bool { return q > j }); e >= 0 {
					extent := uint64(len(first) - from - e)
					want.Reordered++
					extents += extent
					want.ExtentMax = max(want.ExtentMax, extent)
				}
				here[j] = true
				first = append(first, j)
			}
		}
		want.Lost += p.Numbers(k, n) - uint64(len(first))
	}
	if want.Reordered > 0 {
		want.ExtentMean = float64(extents) / float64(want.Reordered)
	}
	return want
}

var impairments = []struct {
	name  string
	rules []string
	made  Made // of 5,000 frames that leave
}{
	{"drop", []string{"drop 2/100"}, Made{Dropped: 102}},
	{"duplicate", []string{"duplicate 1/100 x3"}, Made{Duplicated: 144}},
	{"swap", []string{"swap 1/50"}, Made{Swapped: 100}},
	{"hold", []string{"hold 1/100 by 5"}, Made{Held: 50}},
	{"reorder", []string{"reorder 16/1000 reverse"}, Made{Reordered: 80}},
	{"rotate", []string{"reorder 16/1000 rotate 3"}, Made{Reordered: 80}},
	{"corrupt", []string{"corrupt 1/50"}, Made{Corrupted: 100}},
	{"corrupt the header", []string{"corrupt 1/50 header"}, Made{Corrupted: 100}},
	{"corrupt the checksum", []string{"corrupt 1/50 checksum"}, Made{Corrupted: 100}},
	{"places", []string{"drop at 100,200-210", "duplicate at 900"}, Made{Dropped: 12, Duplicated: 1}},
	{"all at once", []string{"drop 1%", "duplicate 1% x2", "swap 1%", "hold 1% by 9", "reorder 8 1% shuffle", "corrupt 1%"}, Made{}},
}

func TestImpaired(t *testing.T) {
	b := newCable(t, lab.Config{})
	for _, way := range [][2]string{{"packet", "packet"}, {"xdp", "live"}} {
		for _, tt := range impairments {
			t.Run(way[0]+" to "+way[1]+"/"+tt.name, func(t *testing.T) {
				p := b.open(t, true)
				p.config.Engine, p.config.Receiver = way[0], way[1]
				ph := b.impairedPhase(t, p, 5000, tt.rules, gen.Simple{Name: "a", Size: "128", Flows: 3}, gen.Simple{Name: "b", Size: "imix"})
				var w watcher
				r := b.impairedRun(t, p, &w, ph)
				checkImpaired(t, r, ph.Plans[0])
				if x := r.Phases[0].Impaired.Made; tt.made != (Made{}) && x != tt.made {
					t.Errorf("made %+v, need %+v", x, tt.made)
				}
				if x := r.Phases[0]; x.Sent != 5000 {
					t.Errorf("sent %d, need 5000", x.Sent)
				}
				toldOf(t, &w, r.Phases[0].Impaired.Made)
				p.Close()
			})
		}
	}
}

// impairedRun is bed.run without its check of the plain sums.
func (b bed) impairedRun(t *testing.T, p *Pair, o Observer, phases ...Phase) *Result {
	t.Helper()
	c := b.config
	c.Name, c.Phases, c.Observer = t.Name(), phases, o
	c.Tolerance, c.CatchUp = 0.99, time.Second // whatever else this machine does
	r, err := Run(t.Context(), p, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkImpaired compares the account of one phase with the script, where nothing
// happens on the way.
func checkImpaired(t *testing.T, r *Result, p *plan.Plan) {
	t.Helper()
	x := r.Phases[0]
	want := byHand(p, x.Sent)
	if diff := cmp.Diff(&want, x.Impaired.Expected); diff != "" {
		t.Errorf("expected (-by hand +got):\n%s", diff)
	}
	if diff := cmp.Diff(&want, x.Impaired.Seen); diff != "" {
		t.Errorf("seen (-by hand +got):\n%s", diff)
	}
	if x.Lost != 0 || x.Duplicated != 0 || x.Reordered != 0 || x.LossPeriodCount != 0 || len(x.LossPeriods) != 0 || x.BurstCount != 0 {
		t.Errorf("blamed on the way: lost %d in %d periods, duplicated %d, reordered %d", x.Lost, x.LossPeriodCount, x.Duplicated, x.Reordered)
	}
	if r.Ledger.Unexplained != 0 || r.Ledger.Sent != x.Sent || r.Ledger.Received != x.Sent {
		t.Errorf("ledger %+v", r.Ledger)
	}
	if r.Verdict.Result != Pass || len(r.Verdict.Checks) < 5 {
		t.Errorf("verdict %+v", r.Verdict)
	}
}

// toldOf adds up the events.
func toldOf(t *testing.T, w *watcher, made Made) {
	t.Helper()
	var frames uint64
	for _, e := range w.of(EventImpairment) {
		frames += e.Frames
		if e.Text == "" || e.Phase != "wrong" {
			t.Errorf("event %+v", e)
		}
	}
	if want := made.Dropped + made.Duplicated + 2*made.Swapped + made.Held + made.Reordered + made.Corrupted; frames != want {
		t.Errorf("events tell of %d frames, need %d", frames, want)
	}
}

// A frame that the way loses is the way's, beside those that were dropped, and its
// period has no others.
func TestImpairedAndLost(t *testing.T) {
	b := newCable(t, lab.Config{})
	p := b.open(t, true)
	ph := b.impairedPhase(t, p, 3000, []string{"drop 1/10", "duplicate 1/100"}, gen.Simple{Name: "a"})
	plain, err := plan.New(plan.Plan{Streams: ph.Plans[0].Streams})
	if err != nil {
		t.Fatal(err)
	}
	// The script says that all leave but the tenth; what leaves lacks 400 to 420 too.
	n := newIntent(ph.Plans[0])
	var got []meter.LossPeriod
	m, err := meter.NewStream(meter.Config{Stream: 1, OnLoss: func(l meter.LossPeriod) {
		if l, ok := n.loss(0, l); ok {
			got = append(got, l)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range ph.Count {
		if f, _ := ph.Plans[0].Source(i); f < 400 || f > 420 {
			_, j := plain.Entry(f)
			m.Add(meter.Arrival{Stream: 1, Seq: j, At: int64(i)})
		}
	}
	n.left.Store(ph.Count)
	m.Finish(ph.Plans[0].Numbers(0, ph.Count))
	if len(got) != 1 || got[0].First != 400 || got[0].Frames != 19 {
		t.Errorf("periods %+v, need one of 19 frames from 400 on: 409 and 419 were dropped on purpose", got)
	}
	if n.periodCount != 1 || len(n.periods) != 1 {
		t.Errorf("kept %d of %d", len(n.periods), n.periodCount)
	}
}

// TestAbsents counts as many as a look at each number.
func TestAbsents(t *testing.T) {
	b := bed{dst: "02:00:00:00:00:01", ip: "198.18.1.1"}
	for _, rules := range [][]string{{"drop 2/7"}, {"drop at 3-9", "drop 1/5"}, {"drop 1/3", "hold 1/10 by 4"}} {
		ph := b.impairedPhase(t, &Pair{TX: &port.Port{}}, 1000, rules, gen.Simple{Name: "a"}, gen.Simple{Name: "b"})
		n := newIntent(ph.Plans[0])
		n.left.Store(1000)
		for k := range 2 {
			for first := uint64(0); first < 60; first++ {
				for end := first; end < ph.Plans[0].Numbers(k, 1000); end += 13 {
					var want uint64
					for j := first; j < end; j++ {
						if n.absent(k, j) {
							want++
						}
					}
					if got := n.absents(k, first, end); got != want {
						t.Fatalf("%v: stream %d has %d absent from %d to %d, need %d", rules, k, got, first, end, want)
					}
				}
			}
		}
	}
}

// TestIntent works out, for every number of frames that left, what a receiver must
// find.
func TestIntent(t *testing.T) {
	b := bed{dst: "02:00:00:00:00:01", ip: "198.18.1.1"}
	for _, rules := range [][]string{{"drop 2/7"}, {"drop at 3-9", "drop 1/5"}, {"duplicate 1/3 x2", "hold 1/10 by 4"}, {"reorder 5/6", "swap at 8"}} {
		ph := b.impairedPhase(t, &Pair{TX: &port.Port{}}, 1000, rules, gen.Simple{Name: "a"}, gen.Simple{Name: "b"})
		p := ph.Plans[0]
		n := newIntent(p)
		for left := range uint64(120) {
			var sum impair.Figures
			for k := range p.Streams {
				sum.Add(n.expected(k, left))
			}
			if diff := cmp.Diff(byHand(p, left), *arrivals(sum)); diff != "" {
				t.Fatalf("%v, %d left (-by hand +got):\n%s", rules, left, diff)
			}
			var made Made
			for _, x := range n.between(0, left, 1000) {
				made.count(&x.event)
			}
			if diff := cmp.Diff(made, n.made(left)); diff != "" {
				t.Fatalf("%v, %d left, made (-one by one +at once):\n%s", rules, left, diff)
			}
			lost, duplicated, reordered := n.roughly(left)
			if lost != sum.Lost || duplicated != sum.Duplicated || reordered != sum.Reordered {
				t.Fatalf("%v, %d left: sample takes off %d, %d, %d of %+v", rules, left, lost, duplicated, reordered, sum)
			}
		}
	}
}

// An impaired replay, some of whose frames are alike, is matched by content.
func TestImpairedReplay(t *testing.T) {
	b := newCable(t, lab.Config{})
	for _, engine := range []string{"packet", "xdp"} {
		for _, tt := range impairments {
			t.Run(engine+"/"+tt.name, func(t *testing.T) {
				p := b.open(t, true)
				p.config.Engine = engine
				ph := b.impairedReplay(t, p, tt.rules, 1200, 5)
				r := b.impairedRun(t, p, nil, ph)
				x := r.Phases[0]
				if x.Lost != 0 || x.Duplicated != 0 || x.Reordered != 0 || r.Ledger.Unexplained != 0 || r.Verdict.Result != Pass {
					t.Errorf("verdict %+v, lost %d, duplicated %d, reordered %d, ledger %+v", r.Verdict, x.Lost, x.Duplicated, x.Reordered, r.Ledger)
				}
				if diff := cmp.Diff(x.Impaired.Expected, x.Impaired.Seen); diff != "" {
					t.Errorf("(-expected +seen):\n%s", diff)
				}
				if len(r.Strays) > 0 {
					t.Errorf("strays %v: frames with a wrong bit are known too", r.Strays)
				}
				p.Close()
			})
		}
	}
}

// impairedReplay is a replay of n frames, each tenth of them the same as the first.
func (b bed) impairedReplay(t *testing.T, p *Pair, rules []string, n, loops int) Phase {
	t.Helper()
	src := b.phase(t, p, 1, gen.Simple{Name: "capture", Proto: "tcp", Size: "100", Tag: "none", Flows: uint64(n)})
	frame := make([]byte, src.Plans[0].MaxLen())
	var capture records
	for i := range n {
		which := uint64(i)
		if i%10 == 0 {
			which = 0
		}
		len := src.Plans[0].Write(frame, which, 0)
		capture = append(capture, pcaps.Record{LinkType: pcaps.Ethernet, Data: append([]byte(nil), frame[:len]...), Len: len, Time: int64(i) * 50_000})
	}
	again, _, err := replay.CompileFrom(&capture, "capture", replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again.Streams[0].ID = 1
	rs, err := impair.Parse(rules...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := rs.Script(again.Pass, 5, again.Due)
	if err != nil {
		t.Fatal(err)
	}
	scripted, err := plan.New(plan.Plan{Streams: again.Streams, Due: s.Due, Pass: uint64(len(s.Moves)), Script: s.Plan()})
	if err != nil {
		t.Fatal(err)
	}
	schedule, err := replay.Schedule(scripted, replay.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	return Phase{Name: "wrong", Plans: []*plan.Plan{scripted}, Schedule: schedule, Asked: "as captured", Count: scripted.Pass * uint64(loops)}
}

// Both engines put the bytes on the wire that -w writes.
func TestImpairedBytes(t *testing.T) {
	b := newCable(t, lab.Config{})
	rules := impairments[len(impairments)-1].rules
	for _, engine := range []string{"packet", "xdp"} {
		t.Run(engine, func(t *testing.T) {
			p := b.open(t, true)
			p.config.Engine, p.config.Receiver = engine, "packet"
			ph := b.impairedReplay(t, p, rules, 1000, 2)
			if err := p.Engage([]Phase{ph}); err != nil {
				t.Fatal(err)
			}
			var got [][]byte
			count := p.accounts.frame
			p.accounts.frame = func(f []byte, at int64) meter.Match {
				m := count(f, at)
				if m == meter.Ours {
					got = append(got, bytes.Clone(f))
				}
				return m
			}
			b.impairedRun(t, p, nil, ph)
			var want [][]byte
			frame := make([]byte, ph.Plans[0].MaxLen())
			for i := range ph.Count {
				want = append(want, bytes.Clone(frame[:ph.Plans[0].Write(frame, i, 0)]))
			}
			if len(got) != len(want) {
				t.Fatalf("%d frames came, need %d", len(got), len(want))
			}
			for i := range want {
				if !bytes.Equal(want[i], got[i]) {
					t.Fatalf("frame %d (-plan +wire):\n%s", i, cmp.Diff(want[i], got[i]))
				}
			}
			p.Close()
		})
	}
}

func TestImpairedRefused(t *testing.T) {
	b := newCable(t, lab.Config{})
	t.Run("live", func(t *testing.T) {
		p := b.open(t, true)
		p.config.Engine = "live"
		ph := b.impairedPhase(t, p, 10, []string{"swap 1/2"}, gen.Simple{Name: "a"})
		if err := p.Engage([]Phase{ph}); err == nil || !strings.Contains(err.Error(), "numbers frames as they leave") {
			t.Errorf("have %v", err)
		}
	})
	t.Run("auto", func(t *testing.T) {
		p := b.open(t, true)
		p.config.Engine = "auto"
		ph := b.impairedPhase(t, p, 10, []string{"swap 1/2"}, gen.Simple{Name: "a"})
		if err := p.Engage([]Phase{ph}); err != nil || p.Engine == "live" || !strings.Contains(p.Why, "numbers frames as they leave") {
			t.Errorf("engine %s, %s, %v", p.Engine, p.Why, err)
		}
	})
	t.Run("held longer than the receiver remembers", func(t *testing.T) {
		p := b.open(t, true)
		ph := b.impairedPhase(t, p, 10, []string{fmt.Sprintf("hold at 1 by %d", 1<<15)}, gen.Simple{Name: "a"})
		if err := p.Engage([]Phase{ph}); err == nil || !strings.Contains(err.Error(), "held back by up to 32768 others") {
			t.Errorf("have %v", err)
		}
	})
}

// Through a router, a wrong checksum of IPv4 is dropped and has a name.
func TestRouterDropsCorrupted(t *testing.T) {
	b, l := newRouter(t, lab.Config{})
	p := b.open(t, true)
	ph := b.impairedPhase(t, p, 2000, []string{"corrupt 1/20 ip-checksum"}, gen.Simple{Name: "a"})
	r := b.impairedRun(t, p, nil, ph)
	if x := r.Phases[0]; x.Lost != 100 || x.Impaired.Made.Corrupted != 100 {
		t.Errorf("lost %d, made %+v, need 100 corrupted and lost", x.Lost, x.Impaired.Made)
	}
	if r.Ledger.Unexplained != 0 || len(r.Ledger.Named) == 0 || r.Ledger.Named[0].Where != l.R().String() {
		t.Errorf("ledger %+v", r.Ledger)
	}
	t.Logf("named: %+v", r.Ledger.Named)
}
