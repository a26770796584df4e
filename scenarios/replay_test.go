package scenarios

import (
	"io"
	"testing"

	"squall/gen"
	"squall/internal/lab"
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
	b := newCable(t, lab.Config{})
	p := b.open(t, true)
	before := b.phase(t, p, 1, gen.Simple{Name: "before", Size: "64", Rate: "5kpps"})
	before.Count = 500
	r := b.run(t, t.Context(), p, nil, before, b.replayPhase(t, p, 2, 200, 3))
	x := r.Phases[1]
	if x.Sent != 600 || x.Duplicated != 0 || x.Reordered != 0 {
		t.Errorf("replay %+v, want 600 frames, none twice or out of order", x)
	}
	if x.Received > 0 && x.Latency.Max == 0 {
		t.Errorf("replay has no latency: %+v", x.Latency)
	}
	if x.AskedPPS < 9999 || x.AskedPPS > 10001 {
		t.Errorf("asked %g frames a second, want 10,000", x.AskedPPS)
	}
}
