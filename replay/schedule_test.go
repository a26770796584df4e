package replay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/internal/pace"
	"squall/internal/plan"
	"squall/replay"
)

func rate(t *testing.T, text string) pace.Rate {
	t.Helper()
	r, err := pace.ParseRate(text)
	must(t, err)
	return r
}

func compiled(t *testing.T, times ...int64) *plan.Plan {
	t.Helper()
	p, _, err := replay.Compile(capture(t, times...), replay.Options{})
	must(t, err)
	return p
}

func TestSchedule(t *testing.T) {
	p := compiled(t, 5000, 6000, 6000, 15_000) // due at 0, 1000, 1000, 10000
	due := []int64{0, 1000, 1000, 10_000}
	const period = 10_000 + 3334 // a third of 10,000, rounded up
	tests := []struct {
		name string
		t    replay.Timing
		want pace.Schedule
	}{
		{"as captured", replay.Timing{}, pace.Captured{Times: due, Num: 1, Den: 1, Period: period}},
		{"half speed and a gap", replay.Timing{Speed: "0.5", LoopGap: time.Second}, pace.Captured{Times: due, Num: 1, Den: 2, Period: period, Gap: 1e9}},
		{"top speed", replay.Timing{TopSpeed: true}, pace.Max{}},
		{"rate of max", replay.Timing{Rate: rate(t, "max")}, pace.Max{}},
		{"frames", replay.Timing{Rate: rate(t, "150kpps")}, pace.Constant{Frames: 3, Ns: 20_000}},
		// 60 bytes, 64 with FCS, 84 on layer 1.
		{"bits", replay.Timing{Rate: rate(t, "1Gbit")}, pace.Constant{Frames: 1, Ns: 672}},
		{"bits, layer 2", replay.Timing{Rate: rate(t, "1Gbit/l2")}, pace.Constant{Frames: 1, Ns: 512}},
		{"percent", replay.Timing{Rate: rate(t, "10%"), Link: 1e9}, pace.Constant{Frames: 1, Ns: 6720}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := replay.Schedule(p, tt.t)
			must(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("schedule (-want +got):\n%s", diff)
			}
		})
	}
}

// The first frame of a pass is due one mean gap after the last of the pass
// before, and passes do not drift.
func TestLoops(t *testing.T) {
	tests := []struct {
		name   string
		times  []int64
		speed  string
		period int64 // at that speed, of 1000 passes
	}{
		{"even gaps stay even", []int64{100, 200, 300, 400}, "1", 400 * 1000},
		{"a gap of a fraction is rounded up", []int64{0, 0, 0, 1}, "1", 2 * 1000},
		{"three times as fast, not rounded a pass", []int64{100, 200, 300, 400}, "3", 400 * 1000 / 3},
		{"one time for all", []int64{7, 7}, "1", 0},
		{"one frame", []int64{7}, "1", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := replay.Schedule(compiled(t, tt.times...), replay.Timing{Speed: tt.speed})
			must(t, err)
			if got := s.Due(1000 * uint64(len(tt.times))); got != tt.period {
				t.Errorf("pass 1000 begins at %d ns, want %d", got, tt.period)
			}
		})
	}
}

func TestScheduleRefuses(t *testing.T) {
	p := compiled(t, 0, 1)
	tests := []struct {
		name string
		t    replay.Timing
		says string
	}{
		{"speed and rate", replay.Timing{Speed: "2", Rate: rate(t, "1pps")}, "give one"},
		{"speed and top speed", replay.Timing{Speed: "2", TopSpeed: true}, "give one"},
		{"rate of max and speed", replay.Timing{Speed: "2", Rate: rate(t, "max")}, "give one"},
		{"gap and rate", replay.Timing{Rate: rate(t, "1pps"), LoopGap: 1}, "own timing"},
		{"gap and top speed", replay.Timing{TopSpeed: true, LoopGap: 1}, "own timing"},
		{"gap below 0", replay.Timing{LoopGap: -1}, "less than 0"},
		{"percent of an unknown link", replay.Timing{Rate: rate(t, "10%")}, "how fast its link is"},
		{"no speed", replay.Timing{Speed: "fast"}, "not a number"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if s, err := replay.Schedule(p, tt.t); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, error %v, want %q", s, err, tt.says)
			}
		})
	}
}

func TestParseSpeed(t *testing.T) {
	tests := []struct {
		text     string
		num, den uint64
		says     string
	}{
		{"1", 1, 1, ""},
		{"0.5", 1, 2, ""},
		{"0.0000002", 1, 5_000_000, ""},
		{"1000", 1000, 1, ""},
		{"2.5e3", 2500, 1, ""},
		{"1/3", 1, 3, ""},
		{"0.5/1.5", 1, 3, ""},
		{"123456.789012345678", 61_728_394_506_172_839, 500_000_000_000, ""},
		{"", 0, 0, "not a number"},
		{"0", 0, 0, "above 0"},
		{"-1", 0, 0, "above 0"},
		{"1/0", 0, 0, "not a number"},
		{"1/2/3", 0, 0, "not a number"},
		{"2x", 0, 0, "not a number"},
		{"0x10", 0, 0, "not a number"},
		{"inf", 0, 0, "not a number"},
		{"1e99", 0, 0, "too large"},
		{"1e-30", 0, 0, "too small"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			num, den, err := replay.ParseSpeed(tt.text)
			if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error %v, want %q", err, tt.says)
			}
			if num != tt.num || den != tt.den {
				t.Errorf("%d/%d, want %d/%d", num, den, tt.num, tt.den)
			}
		})
	}
}

// 3,049 frames in 7.721 ms; stretched and squeezed, the last frame is due when
// it should be.
func TestSharedSpeeds(t *testing.T) {
	p, _, err := replay.Compile(shared(t, "dupack-runs.pcap"), replay.Options{})
	must(t, err)
	for speed, last := range map[string]int64{"1": 7_721_000, "0.5": 15_442_000, "0.0000002": 38_605_000_000_000, "1000": 7_721} {
		s, err := replay.Schedule(p, replay.Timing{Speed: speed})
		must(t, err)
		if got := s.Due(p.Pass - 1); got != last {
			t.Errorf("speed %s: the last frame is due at %d ns, want %d", speed, got, last)
		}
		if s.Due(p.Pass) <= last {
			t.Errorf("speed %s: the second pass begins at %d ns, before the first ends", speed, s.Due(p.Pass))
		}
	}
}
