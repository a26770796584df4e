package xdpmeter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/meter"
	"squall/internal/wire"
)

// arrival is a frame of stream 1.
type arrival struct {
	seq      uint64
	len      int // in memory
	sent, at int64
}

// arrive makes arrivals of these sequence numbers: number q is sent at q us and each
// arrival comes 1 us after the one before it.
func arrive(seqs ...uint64) []arrival {
	var as []arrival
	for i, q := range seqs {
		as = append(as, arrival{seq: q, len: 60, sent: int64(q) * 1000, at: 1_000_000 + int64(i)*1000})
	}
	return as
}

// upTo returns from, ..., to-1.
func upTo(from, to uint64) []uint64 {
	var s []uint64
	for q := from; q < to; q++ {
		s = append(s, q)
	}
	return s
}

// equal gives the arrivals to both meters and compares all they say: the reports
// before and after Finish, the live counters, and what OnLoss is told.
func (r *rig) equal(t testing.TB, arrivals []arrival, sent uint64) meter.Report {
	t.Helper()
	for _, a := range arrivals {
		r.arrive(t, udp4(a.len, wire.Tag{Run: run, Stream: 1, Seq: a.seq, Sent: a.sent}), a.at)
	}
	got, want := r.streams[0], r.want[0]
	if diff := cmp.Diff(want.Live(), got.Live()); diff != "" {
		t.Errorf("live counters (-want +got):\n%s", diff)
	}
	before, beforeGot := want.Report(), got.Report()
	if before.Received != beforeGot.Received || before.Lost != beforeGot.Lost || before.Missing != beforeGot.Missing ||
		before.Latency != beforeGot.Latency || before.LossPattern.Noticeable != beforeGot.LossPattern.Noticeable {
		t.Errorf("before Finish: report %+v, want %+v", beforeGot, before)
	}
	got.Finish(sent)
	want.Finish(sent)
	g, w := got.Report(), want.Report()
	w.Density, w.Occupancy, w.Variation = nil, nil, nil
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Live(), got.Live()); diff != "" {
		t.Errorf("live counters after Finish (-want +got):\n%s", diff)
	}
	if g.Received+g.Lost != sent+g.Beyond {
		t.Errorf("received %d + lost %d, want sent %d + beyond %d", g.Received, g.Lost, sent, g.Beyond)
	}
	return g
}

func TestFigures(t *testing.T) {
	const top = wire.MaxSeq + 1
	tests := []struct {
		name   string
		seqs   []uint64
		sent   uint64
		window int    // 0: 1024
		limit  uint64 // 0: none
		// What each row is there for: lost, duplicated, reordered, late, wild.
		want [5]uint64
	}{
		{name: "nothing sent"},
		{name: "nothing arrived", sent: 5, want: [5]uint64{5}},
		{name: "in order", seqs: upTo(0, 3000), sent: 3000},
		{name: "first and last lost", seqs: upTo(1, 9), sent: 10, want: [5]uint64{2}},
		{name: "every tenth lost", seqs: slices.DeleteFunc(upTo(0, 5000), func(q uint64) bool { return q%10 == 3 }), sent: 5000, want: [5]uint64{500}},
		{name: "a hundred lost, a thousand times", seqs: slices.DeleteFunc(upTo(0, 101_000), func(q uint64) bool { return q%101 != 50 }), sent: 101_000, want: [5]uint64{100_000}},
		{name: "duplicates", seqs: []uint64{0, 1, 1, 3, 2, 2, 3, 4}, sent: 5, want: [5]uint64{0, 3, 1}},
		{name: "every frame twice, window later", seqs: slices.Concat(upTo(0, 1500), upTo(476, 1500)), sent: 1500, want: [5]uint64{0, 1024}},
		{name: "swaps", seqs: []uint64{1, 0, 3, 2, 5, 4, 7, 6}, sent: 8, want: [5]uint64{0, 0, 4}},
		{name: "late by 500", seqs: slices.Concat(upTo(0, 100), upTo(101, 601), []uint64{100}, upTo(601, 700)), sent: 700, want: [5]uint64{0, 0, 1}},
		{name: "late by 2000, window of 1024", seqs: slices.Concat(upTo(0, 100), upTo(101, 2101), []uint64{100}, upTo(2101, 2200)), sent: 2200, want: [5]uint64{1, 0, 0, 1}},
		{name: "late by 2000, window of 4096", seqs: slices.Concat(upTo(0, 100), upTo(101, 2101), []uint64{100}, upTo(2101, 2200)), sent: 2200, window: 4096, want: [5]uint64{0, 0, 1}},
		{name: "the oldest number of the window", seqs: slices.Concat(upTo(1, 1024), []uint64{0}), sent: 1024, want: [5]uint64{0, 0, 1}},
		{name: "one number beyond the window", seqs: slices.Concat(upTo(1, 1025), []uint64{0, 0}), sent: 1025, want: [5]uint64{1, 0, 0, 2}},
		{name: "a gap of the window less one", seqs: []uint64{0, 1, 1025, 1026}, sent: 1027, want: [5]uint64{1023}},
		{name: "a gap of the window", seqs: []uint64{0, 1, 1026, 1027, 2, 3}, sent: 1028, want: [5]uint64{1024, 0, 0, 2}},
		{name: "a gap of the window and one", seqs: []uint64{0, 1, 1027, 1028}, sent: 1029, want: [5]uint64{1025}},
		{name: "the first arrival is far ahead", seqs: []uint64{70_000, 69_999, 68_000}, sent: 70_001, want: [5]uint64{69_999, 0, 1, 1}},
		{name: "a gap of 65,536", seqs: slices.Concat(upTo(0, 10), upTo(65_546, 65_600)), sent: 65_600, want: [5]uint64{65_536}},
		{name: "a gap of 65,536, window of 65,536", seqs: slices.Concat(upTo(0, 10), upTo(65_546, 65_600), []uint64{9_999, 5}), sent: 65_600, window: 1 << 16, want: [5]uint64{65_535, 0, 1, 1}},
		{name: "a gap of 100,000, window of 2^18", seqs: slices.Concat(upTo(0, 10), upTo(100_010, 100_020), upTo(50_000, 50_070)), sent: 100_020, window: 1 << 18, want: [5]uint64{99_930, 0, 70}},
		{name: "48-bit numbers", seqs: []uint64{0, 1 << 40, 1<<40 + 2, 1<<40 + 1, top - 3, top - 1, top - 2}, sent: top, want: [5]uint64{top - 7, 0, 2}},
		{name: "past the limit", seqs: []uint64{0, 1, 100, 3, 99, top - 1}, sent: 100, limit: 100, want: [5]uint64{96, 0, 0, 0, 2}},
		{name: "more arrived than was sent", seqs: upTo(0, 10), sent: 8},
		{name: "block overtaken", seqs: slices.Concat(upTo(0, 10), upTo(20, 40), upTo(10, 20)), sent: 40, want: [5]uint64{0, 0, 10}},
		{name: "runs of more than 64", seqs: slices.Concat([]uint64{0}, upTo(2, 300), []uint64{1}), sent: 300, want: [5]uint64{0, 0, 1}},
		{name: "RFC 3357 section 5", seqs: []uint64{0, 2, 3, 5, 7}, sent: 10, want: [5]uint64{5}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, false, meter.Config{Stream: 1, Window: max(tt.window, 1024), Limit: tt.limit})
			got := r.equal(t, arrive(tt.seqs...), tt.sent)
			if figures := [5]uint64{got.Lost, got.Duplicated, got.Reordered, got.Late, got.Wild}; figures != tt.want {
				t.Errorf("lost, duplicated, reordered, late, wild: %d, want %d", figures, tt.want)
			}
			if got.Density != nil || got.Occupancy != nil || got.Variation != nil {
				t.Error("the report has figures that were not counted")
			}
		})
	}
}

// TestTimes has clocks that wrap, times out of order, and latencies of every size.
func TestTimes(t *testing.T) {
	const wrap = int64(1) << 48
	var sizes []arrival
	for i := range int64(47) {
		sizes = append(sizes, arrival{seq: uint64(i), len: 60 + int(i), sent: 1000, at: 1000 + 1<<i + i})
	}
	tests := []struct {
		name     string
		arrivals []arrival
		sent     uint64
	}{
		{"send clock wraps", []arrival{
			{0, 60, wrap - 400, wrap - 300}, {1, 1514, wrap - 300, wrap - 180}, {3, 60, wrap - 100, wrap - 10},
			{5, 60, 100, wrap + 150}, {4, 60, 0, wrap + 180}, {7, 60, wrap + 400, wrap + 399},
		}, 9},
		{"arrivals out of order", []arrival{{0, 60, 0, 500}, {2, 60, 0, 400}, {1, 60, 0, 300}, {5, 60, 0, 200}, {6, 60, 0, 100}}, 8},
		{"latencies of every size", sizes, 47},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			newRig(t, false, meter.Config{Stream: 1, Window: 1024}).equal(t, tt.arrivals, tt.sent)
		})
	}
}

// TestSumOverflows has latencies whose sum does not fit into 64 bits.
func TestSumOverflows(t *testing.T) {
	r := newRig(t, false, meter.Config{Stream: 1, Window: 1024})
	r.memory.accounts[0].Latency.Sum = ^uint64(0) - 5
	for _, a := range arrive(0, 1, 2) {
		r.arrive(t, udp4(60, wire.Tag{Run: run, Stream: 1, Seq: a.seq, Sent: a.at - 10}), a.at)
	}
	if m := r.memory.accounts[0].Latency; m.SumHigh != 1 || m.Sum != 24 {
		t.Errorf("sum %d * 2^64 + %d, want 1 * 2^64 + 24", m.SumHigh, m.Sum)
	}
}

// path makes the arrivals of a path that loses, duplicates and delays, in
// thousandths; by: places.
func path(rng *rand.Rand, sent, loss, burst, dup, held, by int) []arrival {
	chance := func(n int) bool { return rng.IntN(1000) < n }
	type frame struct{ seq, place int }
	var frames []frame
	for q := 0; q < sent; q++ {
		if chance(burst) {
			q += rng.IntN(2500)
			continue
		}
		if chance(loss) {
			continue
		}
		place := q
		if chance(held) {
			place += rng.IntN(by)
		}
		frames = append(frames, frame{q, place})
		if chance(dup) {
			frames = append(frames, frame{q, place + rng.IntN(by)})
		}
	}
	slices.SortStableFunc(frames, func(a, b frame) int { return a.place - b.place })
	var arrivals []arrival
	for i, f := range frames {
		arrivals = append(arrivals, arrival{
			seq: uint64(f.seq), len: 60 + f.seq%1400,
			sent: int64(f.seq) * 800, at: int64(i)*800 + rng.Int64N(1<<rng.IntN(40)),
		})
	}
	return arrivals
}

// TestRandomPaths compares on random paths, the same on each run.
func TestRandomPaths(t *testing.T) {
	tests := []struct {
		name                       string
		loss, burst, dup, held, by int
	}{
		{"loss", 20, 0, 0, 0, 1},
		{"bursts of loss", 0, 5, 0, 0, 1},
		{"duplicates", 0, 0, 50, 0, 3},
		{"slight reordering", 0, 0, 0, 100, 3},
		{"wide reordering", 0, 0, 0, 30, 900},
		{"beyond the window", 0, 0, 10, 20, 3000},
		{"all", 30, 2, 30, 100, 12},
		{"all, wide", 30, 2, 30, 200, 1500},
	}
	r := newRig(t, false, meter.Config{Stream: 1, Window: 1024, Noticeable: 5, Periods: 50})
	for _, tt := range tests {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("%s/%d", tt.name, seed), func(t *testing.T) {
				const sent = 6000
				r.reset(t)
				r.equal(t, path(rand.New(rand.NewPCG(seed, 717)), sent, tt.loss, tt.burst, tt.dup, tt.held, tt.by), sent)
			})
		}
	}
}

// FuzzFigures compares on any order of arrivals.
func FuzzFigures(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add([]byte{0, 0, 0, 0, 0, 0}, uint16(3))
	f.Add([]byte{0x13, 0, 0x20, 1, 0x81, 5, 0x82, 7, 0x85, 1, 0x20, 0}, uint16(20))
	f.Add([]byte{0xff, 3, 0x7f, 255, 0x90, 2, 0x81, 4, 0xff, 0, 0x82, 0, 0x9f, 9}, uint16(500))
	f.Add([]byte("\xff\x20\xff\x50\x00\x01\x81\x02\xff\xff\x83\x00\x00\x00\xf0\xff\xc0\xff"), uint16(1<<12))
	r := newRig(f, false, meter.Config{Stream: 1, Window: 1024, Limit: 1 << 30, Noticeable: 3, Periods: 3})
	f.Fuzz(func(t *testing.T, script []byte, extra uint16) {
		if len(script) > 2000 {
			return
		}
		r.reset(t)
		var arrivals []arrival
		next, at := uint64(0), int64(1<<47) // the send clock wraps soon
		for i := 0; i+1 < len(script); i += 2 {
			step, arg := script[i], script[i+1]
			seq := next
			switch {
			case step >= 0xf0: // far ahead
				seq += uint64(arg) * uint64(arg)
			case step >= 0xc0: // far back, also out of the window
				seq -= min(seq, uint64(arg)*uint64(step&0x3f))
			case step >= 0x80: // back
				seq -= min(seq, uint64(step&0x3f))
			default: // ahead
				seq += uint64(step & 0x0f)
			}
			next = max(next, seq+1)
			at += int64(arg&0x3f)*997 - 500
			arrivals = append(arrivals, arrival{
				seq: seq, len: 60 + int(arg),
				sent: (at - int64(arg)*int64(step)*31 + 900) & wire.MaxSeq, at: at,
			})
		}
		r.equal(t, arrivals, next-min(next, 5)+uint64(extra>>8&15))
	})
}
