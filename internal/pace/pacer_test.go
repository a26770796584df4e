package pace_test

import (
	"testing"
	"time"

	"squall/internal/pace"
)

const ms = int64(time.Millisecond)

// drive walks a schedule as a sender does that needs cost ns for a frame, with
// a clock that moves only when it says so. Move now to stall it.
type drive struct {
	pacer *pace.Pacer
	batch int
	cost  int64

	now  int64
	i    uint64
	sent []int64 // when each frame went
}

func (d *drive) until(t *testing.T, end int64) {
	t.Helper()
	for idle := 0; d.now < end; {
		n, until := d.pacer.Next(d.now, d.i, d.batch)
		if n < 0 || n > d.batch {
			t.Fatalf("Next = %d frames, asked for at most %d", n, d.batch)
		}
		if n == 0 {
			if until <= d.now {
				t.Fatalf("Next at %d says to ask again at %d", d.now, until)
			}
			// A due time and, after a stall, the token for it.
			if idle++; idle > 2 {
				t.Fatalf("Next at %d put frame %d off %d times", d.now, d.i, idle)
			}
			d.now = until
			continue
		}
		idle = 0
		for range n {
			if due := d.pacer.Due(d.i); due > d.now {
				t.Fatalf("frame %d may go at %d, is due at %d", d.i, d.now, due)
			}
			d.sent = append(d.sent, d.now)
			d.i++
		}
		d.now += int64(n) * d.cost
	}
}

// between counts frames that went in [from, to).
func (d *drive) between(from, to int64) int {
	n := 0
	for _, at := range d.sent {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

func within(t *testing.T, what string, got, least, most int64) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("%s: have %d, want %d to %d", what, got, least, most)
	}
}

const start = 1_000 * second

var dues = []struct {
	name  string
	sched pace.Schedule
}{
	{"1 pps", pace.Constant{Frames: 1, Ns: 1e9}},
	{"7 pps", pace.Constant{Frames: 7, Ns: 1e9}},
	{"15 pps", pace.Constant{Frames: 15, Ns: 1e9}},
	{"150 kpps", pace.Constant{Frames: 150, Ns: 1e6}},
	{"1.488 Mpps", pace.Constant{Frames: 1_250_000_000, Ns: 840e9}},
	{"bursts", pace.Bursts{N: 256, Of: pace.Constant{Frames: 1, Ns: 1e6}}},
	{"bursts larger than a batch and rare", pace.Bursts{N: 1000, Of: pace.Constant{Frames: 1, Ns: 3e8}}},
	{"ramp up", pace.Ramp{From: 0, To: 200_000, Over: 200 * ms}},
	{"ramp down", pace.Ramp{From: 200_000, To: 1_000, Over: 200 * ms}},
	{"capture", pace.Captured{Times: []int64{0, 0, 0, 10_000, 7_721_000}, Num: 1, Den: 1, Period: 9_651_250}},
}

// A sender that is never held up sends every frame when it is due, none early,
// and what it has sent after 400 ms is what was due by then.
func TestPacerOnTime(t *testing.T) {
	for _, tt := range dues {
		t.Run(tt.name, func(t *testing.T) {
			d := drive{pacer: pace.NewPacer(tt.sched, start, 0), batch: 64, now: start - 5*ms}
			d.until(t, start+400*ms)
			if got := d.pacer.Slipped(); got != 0 {
				t.Errorf("slipped %d ns without a stall", got)
			}
			for i, at := range d.sent {
				if due := start + tt.sched.Due(uint64(i)); at != due {
					t.Fatalf("frame %d went at %d, was due at %d", i, at-start, due-start)
				}
			}
			if due := tt.sched.Due(d.i); due < 400*ms {
				t.Errorf("frame %d was due after %d ns, but did not go in 400 ms", d.i, due)
			}
		})
	}
}

// Stalls of 45 and 10 ms, within the bound of 50, are made good whole.
func TestPacerShortStall(t *testing.T) {
	for _, tt := range dues {
		t.Run(tt.name, func(t *testing.T) {
			d := drive{pacer: pace.NewPacer(tt.sched, start, 0), batch: 64, now: start}
			d.until(t, start+200*ms)
			d.now += 45 * ms
			d.until(t, start+300*ms)
			d.now += 10 * ms
			d.until(t, start+400*ms)
			if got := d.pacer.Slipped(); got != 0 {
				t.Errorf("slipped %d ns", got)
			}
			if due := tt.sched.Due(d.i); due < 400*ms {
				t.Errorf("frame %d was due after %d ns, but did not go in 400 ms", d.i, due)
			}
		})
	}
}

// Of a stall of 500 ms the bound is made good, back to back, and the rest slips.
func TestPacerLongStall(t *testing.T) {
	tests := []struct {
		name    string
		sched   pace.Schedule
		catchUp int64 // 0: 50 ms
		burst   [2]int64
		slip    [2]int64
	}{
		// 150 kpps: 6,667 ns a frame; two frames of play, since a frame is due
		// at its token.
		{"150 kpps", pace.Constant{Frames: 150, Ns: 1e6}, 0, [2]int64{7_499, 7_503}, [2]int64{450*ms - 20_000, 450*ms + 20_000}},
		{"150 kpps, 5 ms", pace.Constant{Frames: 150, Ns: 1e6}, 5 * ms, [2]int64{749, 753}, [2]int64{495*ms - 20_000, 495*ms + 20_000}},
		{"150 kpps, 1 s", pace.Constant{Frames: 150, Ns: 1e6}, second, [2]int64{74_999, 75_001}, [2]int64{0, 0}},
		// 100 pps: 5 frames in 50 ms.
		{"100 pps", pace.Constant{Frames: 1, Ns: 1e7}, 0, [2]int64{5, 7}, [2]int64{430 * ms, 460 * ms}},
		{"bursts", pace.Bursts{N: 150, Of: pace.Constant{Frames: 1, Ns: 1e6}}, 0, [2]int64{7_350, 7_800}, [2]int64{447 * ms, 453 * ms}},
		{"ramp, at its end", pace.Ramp{From: 1_000, To: 150_000, Over: 100 * ms}, 0, [2]int64{7_499, 7_503}, [2]int64{450*ms - 20_000, 450*ms + 20_000}},
		// 40 frames in 2 ms, again and again: 20 kpps.
		{"capture", pace.Captured{Times: make([]int64, 40), Num: 1, Den: 1, Period: 2 * ms}, 0, [2]int64{1_000, 1_080}, [2]int64{446 * ms, 450 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := drive{pacer: pace.NewPacer(tt.sched, start, tt.catchUp), batch: 64, now: start}
			d.until(t, start+200*ms)
			before := d.i
			stalled := d.now + 500*ms
			d.now = stalled
			d.until(t, stalled+1)
			within(t, "frames at once after the stall", int64(d.between(stalled, stalled+1)), tt.burst[0], tt.burst[1])
			within(t, "slipped ns", d.pacer.Slipped(), tt.slip[0], tt.slip[1])

			// From then on it is on time again and slips no more.
			slip := d.pacer.Slipped()
			d.until(t, stalled+500*ms)
			if more := d.pacer.Slipped() - slip; more != 0 {
				t.Errorf("slipped %d ns more in 500 ms without a stall", more)
			}
			if due := d.pacer.Due(d.i); due < stalled+500*ms {
				t.Errorf("frame %d, due at %d, did not go", d.i, due)
			}
			// What was not sent is what slipped.
			sent := float64(d.i-before) / tt.sched.Rate() * 1e9
			within(t, "schedule sent in 1 s, ns", int64(sent), 1000*ms-slip-10*ms, 1000*ms-slip+10*ms)
		})
	}
}

// A sender that can do half of what is asked sends all that it can, and what it
// is short of has slipped, but for the bound.
func TestPacerTooSlow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sched pace.Schedule
	}{
		{"constant", pace.Constant{Frames: 100, Ns: 1e6}},
		{"bursts", pace.Bursts{N: 32, Of: pace.Constant{Frames: 1, Ns: 320_000}}},
		{"capture", pace.Captured{Times: []int64{0, 0, 20_000, 20_000}, Num: 1, Den: 1, Period: 40_000}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := drive{pacer: pace.NewPacer(tt.sched, start, 0), batch: 64, cost: 20_000, now: start}
			d.until(t, start+2*second)
			within(t, "frames in 2 s at 50 kpps", int64(d.i), 99_900, 100_100)
			within(t, "slipped ns", d.pacer.Slipped(), 940*ms, 960*ms)
		})
	}
}

// A burst that takes longer to send than may be made good is no stall.
func TestPacerLongBursts(t *testing.T) {
	b := pace.Bursts{N: 100_000, Of: pace.Constant{Frames: 1, Ns: 1e9}}
	d := drive{pacer: pace.NewPacer(b, start, 0), batch: 64, cost: 2_000, now: start}
	d.until(t, start+second)
	within(t, "frames in 1 s", int64(d.i), 100_000, 100_000)
	within(t, "slipped ns", d.pacer.Slipped(), 0, 0)
}

// A ramp down is asked for its first rate at first.
func TestPacerRampDown(t *testing.T) {
	r := pace.Ramp{From: 100_000, To: 100, Over: second}
	d := drive{pacer: pace.NewPacer(r, start, 0), batch: 64, now: start}
	d.until(t, start+second)
	within(t, "frames in the ramp", int64(d.i), 50_049, 50_052)
}

func TestPacerMax(t *testing.T) {
	p := pace.NewPacer(pace.Max{}, start, 0)
	if n, until := p.Next(start-1, 0, 64); n != 0 || until != start {
		t.Errorf("Next before the start = %d frames, until %d; want 0, %d", n, until, start)
	}
	if n, _ := p.Next(start+day, 1<<40, 64); n != 64 {
		t.Errorf("Next = %d frames, want 64", n)
	}
	if p.Slipped() != 0 {
		t.Errorf("slipped %d ns without a rate", p.Slipped())
	}
}

// 12 days into a run of 150 kpps the pacer sends as on the first day.
func TestPacerAfterDays(t *testing.T) {
	c := pace.Constant{Frames: 150, Ns: 1e6}
	const days = 12
	d := drive{pacer: pace.NewPacer(c, start, 0), batch: 64, now: start + days*day, i: 150_000 * days * 86_400}
	d.until(t, start+days*day+200*ms)
	within(t, "frames in 200 ms", int64(len(d.sent)), 30_000, 30_000)
	if got := d.pacer.Slipped(); got != 0 {
		t.Errorf("slipped %d ns", got)
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	for _, tt := range dues {
		t.Run(tt.name, func(t *testing.T) {
			d := drive{pacer: pace.NewPacer(tt.sched, start, 0), now: start}
			step := func() {
				n, until := d.pacer.Next(d.now, d.i, 64)
				d.i += uint64(n)
				if n == 0 {
					d.now = until + ms // late, so that it catches up
				}
			}
			if got := testing.AllocsPerRun(1_000, step); got != 0 {
				t.Errorf("Next allocates %v times", got)
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	for _, tt := range dues {
		b.Run(tt.name, func(b *testing.B) {
			p := pace.NewPacer(tt.sched, start, 0)
			now, i := int64(start), uint64(0)
			for b.Loop() {
				n, until := p.Next(now, i, 64)
				if i += uint64(n); n == 0 {
					now = until
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(i), "ns/frame")
		})
	}
}
