package scenarios

import (
	"io"
	"strings"
	"testing"

	"squall/gen"
	"squall/internal/lab"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/pcaps"
	"squall/replay"
)

// records is a capture in memory.
type records []pcaps.Record

func (r *records) Next() (pcaps.Record, error) {
	if len(*r) == 0 {
		return pcaps.Record{}, io.EOF
	}
	first := (*r)[0]
	*r = (*r)[1:]
	return first, nil
}

// replayPhase is a replay of n frames, every second of them the same, twice.
func (b bed) replayPhase(t *testing.T, p *Pair, id uint16, n, loops int) Phase {
	t.Helper()
	src := b.phase(t, p, 1, gen.Simple{Name: "capture", Proto: "tcp", Size: "64", Flows: uint64(n)})
	frame := make([]byte, src.Plans[0].MaxLen())
	var capture records
	for i := range n {
		which := uint64(i)
		if i%2 == 1 {
			which = 1
		}
		len := src.Plans[0].Write(frame, which, 0)
		capture = append(capture, pcaps.Record{LinkType: pcaps.Ethernet, Data: append([]byte(nil), frame[:len]...), Len: len, Time: int64(i) * 100_000})
	}
	again, sum, err := replay.CompileFrom(&capture, "capture", replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again.Streams[0].ID = id
	schedule, err := replay.Schedule(again, replay.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	return Phase{Name: "replay", Plans: []*plan.Plan{again}, Schedule: schedule, Asked: "as captured", Count: sum.Frames * uint64(loops)}
}

func TestReplayBalances(t *testing.T) {
	for _, engine := range []string{"packet", "xdp", "live"} {
		t.Run(engine, func(t *testing.T) {
			b := newCable(t, lab.Config{})
			p := b.with(t, PairConfig{Engine: engine})
			before := b.phase(t, p, 1, gen.Simple{Name: "before", Size: "64", Rate: "5kpps"})
			before.Count = 500
			r := b.run(t, t.Context(), p, nil, before, b.replayPhase(t, p, 2, 200, 3))
			x := r.Phases[1]
			if x.Sent != 600 || x.Received != 600 || x.Duplicated != 0 || x.Reordered != 0 {
				t.Errorf("replay %+v, want 600 frames, none twice or out of order", x)
			}
			if x.Latency.Min <= 0 || x.Latency.Max < x.Latency.Min {
				t.Errorf("replay has no latency: %+v", x.Latency)
			}
			if x.AskedPPS < 9999 || x.AskedPPS > 10001 {
				t.Errorf("asked %g frames a second, want 10,000", x.AskedPPS)
			}
		})
	}
}

// Auto takes the engine that keeps time best, but at full speed one that a
// receiver of frames without tags keeps up with.
func TestAutoReplay(t *testing.T) {
	b := newCable(t, lab.Config{})
	p := b.with(t, PairConfig{})
	b.run(t, t.Context(), p, nil, b.replayPhase(t, p, 1, 50, 2))
	if p.Engine != "live" {
		t.Errorf("engine %s (%s), want live", p.Engine, p.Why)
	}
	p = b.with(t, PairConfig{})
	ph := b.replayPhase(t, p, 1, 50, 2)
	ph.Schedule = pace.Max{}
	if err := p.Engage([]Phase{ph}); err != nil {
		t.Fatal(err)
	}
	if p.Engine == "live" || !strings.Contains(p.Why, "outruns") {
		t.Errorf("engine %s (%s), want another than live and why", p.Engine, p.Why)
	}
}
