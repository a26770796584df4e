package scenarios

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/probe"
)

func TestAsked(t *testing.T) {
	second := int64(time.Second)
	// Ten frames in the first 10 ms of every second.
	early := pace.Captured{Num: 1, Den: 1, Period: second}
	for i := range int64(10) {
		early.Times = append(early.Times, i*ms)
	}
	late := pace.Captured{Times: []int64{0, 900 * ms, 910 * ms, 920 * ms}, Num: 1, Den: 1, Period: second}
	tests := []struct {
		name    string
		phase   Phase
		sent    uint64
		seconds float64
		want    float64
	}{
		{"as fast as can be", Phase{Schedule: pace.Max{}}, 100, 1, 0},
		{"constant", Phase{Schedule: pace.Constant{Frames: 3, Ns: 1e9}}, 3, 1.1, 3},
		{"bursts", Phase{Schedule: pace.Bursts{N: 10, Of: pace.Constant{Frames: 1, Ns: 1e9}}}, 10, 0.5, 10},
		{"ramp from 0, up to its end", Phase{Schedule: pace.Ramp{From: 0, To: 1000, Over: second}}, 500, 1, 500},
		{"ramp, half of it", Phase{Schedule: pace.Ramp{From: 0, To: 1000, Over: second}}, 125, 0.5, 250},
		{"ramp, a count of frames", Phase{Schedule: pace.Ramp{From: 0, To: 1000, Over: second}, Count: 500}, 500, 1, 500},
		{"capture, whole passes", Phase{Schedule: early, Count: 30}, 30, 3, 10},
		{"capture, whole passes, too slow", Phase{Schedule: early, Count: 30}, 30, 6, 10},
		{"capture, stopped in the middle of a pass", Phase{Schedule: late, Count: 40}, 1, 0.5, 2},
		{"capture, stopped behind a burst", Phase{Schedule: early, Count: 30}, 10, 0.1, 100},
		{"capture without times", Phase{Schedule: pace.Captured{Times: []int64{0}, Num: 1, Den: 1}, Count: 1}, 1, 0, 0},
		{"capture, the first of frames with one time", Phase{Schedule: pace.Captured{Times: []int64{0, 0, 0}, Num: 1, Den: 1, Period: 3000}, Count: 1}, 1, 1e-6, 3e6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := asked(&tt.phase, tt.sent, tt.seconds)
			if math.Abs(got-tt.want) > tt.want*1e-3 {
				t.Errorf("asked %g frames a second, want %g", got, tt.want)
			}
		})
	}
}

func TestSeconds(t *testing.T) {
	tests := []struct {
		name  string
		phase Phase
		sent  port.Sent
		want  float64
	}{
		{"a count: until the next frame would be due", Phase{Schedule: pace.Constant{Frames: 1, Ns: 1e9}, Count: 10}, port.Sent{Frames: 10, Start: 5e9, End: 14e9}, 10},
		{"a count, the last frame late", Phase{Schedule: pace.Constant{Frames: 1, Ns: 1e9}, Count: 10}, port.Sent{Frames: 10, Start: 5e9, End: 17e9}, 12},
		{"a count, the schedule slipped", Phase{Schedule: pace.Constant{Frames: 1, Ns: 1e9}, Count: 10}, port.Sent{Frames: 10, Start: 5e9, End: 16e9, Slipped: 2e9}, 12},
		{"a count that was not reached", Phase{Schedule: pace.Constant{Frames: 1, Ns: 1e9}, Count: 10}, port.Sent{Frames: 5, Start: 5e9, End: 9e9}, 4},
		{"a count, as fast as can be", Phase{Schedule: pace.Max{}, Count: 10}, port.Sent{Frames: 10, Start: 5e9, End: 6e9}, 1},
		{"a time", Phase{Schedule: pace.Constant{Frames: 1, Ns: 1e9}, Duration: 3 * time.Second}, port.Sent{Frames: 3, Start: 5e9, End: 8e9}, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (&run{}).seconds(&tt.phase, tt.sent); got != tt.want {
				t.Errorf("%g s, want %g", got, tt.want)
			}
		})
	}
}

// fixed is a probe that knows its counters.
type fixed []probe.Counter

func (fixed) Name() string                   { return "fixed" }
func (f fixed) Read() (probe.Reading, error) { return probe.Reading{Counters: f}, nil }

// A driver that repeats the kernel's counters by name does not count twice.
func TestReadOnce(t *testing.T) {
	kernel := fixed{{Where: "a", Name: "rx_missed_errors", Value: 7}, {Where: "a", Name: "rx_packets", Value: 100}}
	driver := fixed{{Where: "a", Name: "rx_packets", Value: 900}, {Where: "a", Name: "rx_queue_0_drops", Value: 1}, {Where: "b", Name: "rx_packets", Value: 5}}
	got, err := readAll([]probe.Probe{kernel, driver})
	if err != nil {
		t.Fatal(err)
	}
	want := append(append([]probe.Counter{}, kernel...), driver[1], driver[2])
	if diff := cmp.Diff(want, got.Counters); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}
