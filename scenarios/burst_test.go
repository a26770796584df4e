package scenarios

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/internal/meter"
)

const (
	ms   = int64(time.Millisecond)
	wall = int64(1_700_000_000_000_000_000)
)

// at is a moment of CLOCK_MONOTONIC on the wall clock of these tests.
func at(ns int64) time.Time { return time.Unix(0, ns+wall).UTC() }

func TestBursts(t *testing.T) {
	tests := []struct {
		name    string
		periods []meter.LossPeriod
		want    []Burst
	}{
		{"no loss", nil, nil},
		{
			"one period", []meter.LossPeriod{{Stream: 3, At: 10 * ms, Until: 12 * ms, First: 7, Frames: 5}},
			[]Burst{{At: at(10 * ms), Seconds: 0.002, Frames: 5, Periods: 1, Longest: 5, First: 7, Stream: 3}},
		},
		{
			"100 ms apart is one burst",
			[]meter.LossPeriod{{At: 10 * ms, Until: 12 * ms, First: 7, Frames: 1}, {At: 112 * ms, Until: 113 * ms, First: 20, Frames: 4}},
			[]Burst{{At: at(10 * ms), Seconds: 0.103, Frames: 5, Periods: 2, Longest: 4, First: 7}},
		},
		{
			"more than 100 ms apart is two",
			[]meter.LossPeriod{{At: 10 * ms, Until: 12 * ms, First: 7, Frames: 1}, {At: 112*ms + 1, Until: 113 * ms, First: 20, Frames: 4}},
			[]Burst{
				{At: at(10 * ms), Seconds: 0.002, Frames: 1, Periods: 1, Longest: 1, First: 7},
				{At: at(112*ms + 1), Seconds: float64(ms-1) / 1e9, Frames: 4, Periods: 1, Longest: 4, First: 20},
			},
		},
		{
			"each gap counts from the end of the period before",
			[]meter.LossPeriod{{At: 0, Until: 90 * ms, First: 1, Frames: 1}, {At: 180 * ms, Until: 270 * ms, First: 3, Frames: 1}, {At: 360 * ms, Until: 361 * ms, First: 5, Frames: 1}},
			[]Burst{{At: at(0), Seconds: 0.361, Frames: 3, Periods: 3, Longest: 1, First: 1}},
		},
		{
			"reordering turns times round",
			[]meter.LossPeriod{{At: 10 * ms, Until: 50 * ms, First: 1, Frames: 1}, {At: 5 * ms, Until: 20 * ms, First: 9, Frames: 2}},
			[]Burst{{At: at(5 * ms), Seconds: 0.045, Frames: 3, Periods: 2, Longest: 2, First: 1}},
		},
		{
			"nothing arrived: the time of sending",
			[]meter.LossPeriod{{First: 0, Frames: 9}},
			[]Burst{{At: at(1000 * ms), Seconds: 1, Frames: 9, Periods: 1, Longest: 9}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var told []Burst
			b := bursts{wall: wall, closed: func(x Burst) { told = append(told, x) }}
			b.sent(1000*ms, 2000*ms)
			for _, p := range tt.periods {
				b.add(p)
			}
			got, n := b.finish()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("bursts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, told); diff != "" {
				t.Errorf("bursts told (-want +got):\n%s", diff)
			}
			if n != uint64(len(tt.want)) {
				t.Errorf("%d bursts counted, want %d", n, len(tt.want))
			}
		})
	}
}

func TestBurstsAreBounded(t *testing.T) {
	told := 0
	b := bursts{closed: func(Burst) { told++ }}
	const n = burstsKept + 100
	for i := range int64(n) {
		b.add(meter.LossPeriod{At: i * 200 * ms, Until: i*200*ms + 1, First: uint64(i), Frames: 1})
	}
	kept, count := b.finish()
	if len(kept) != burstsKept || count != n || told != n {
		t.Errorf("kept %d, counted %d, told %d, want %d, %d, %d", len(kept), count, told, burstsKept, n, n)
	}
	if kept[0].First != 0 {
		t.Errorf("the first kept burst begins with frame %d, want 0", kept[0].First)
	}
}
