package live_test

import (
	"testing"
	"time"

	"squall/gen"
	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/port/live"
)

// TestDue compares when the program takes frames to be due with the schedules
// themselves, to the nanosecond.
func TestDue(t *testing.T) {
	needRoot(t)
	const ms = int64(time.Millisecond)
	second := uint64(time.Second)
	times := []int64{0, 0, 5, 1_000_003, 1_000_004, 77_777_777}
	tests := []struct {
		name   string
		s      pace.Schedule
		n      int
		within int64
	}{
		{"1 Mpps", pace.Constant{Frames: 1_000_000, Ns: second}, 2000, 0},
		{"1.488 Mpps", pace.Constant{Frames: 1_250_000_000, Ns: 840 * second}, 5000, 0},
		{"a third", pace.Constant{Frames: 3, Ns: 10}, 1000, 0},
		{"large terms", pace.Constant{Frames: 1<<62 - 1, Ns: 1<<62 - 57}, 1000, 0},
		{"bursts", pace.Bursts{N: 7, Of: pace.Constant{Frames: 11, Ns: second}}, 1000, 0},
		{"capture", pace.Captured{Times: times, Num: 1, Den: 1, Period: 93_333_333}, 1000, 0},
		{"capture stretched", pace.Captured{Times: times, Num: 7, Den: 3, Period: 93_333_333, Gap: 5}, 1000, 0},
		{"capture, large terms", pace.Captured{Times: times, Num: 1<<63 - 25, Den: 1<<63 - 165, Period: 93_333_333}, 1000, 0},
		{"capture without time", pace.Captured{Times: []int64{0, 0}, Num: 1, Den: 1}, 10, 0},
		{"ramp up", pace.Ramp{From: 0, To: 200_000, Over: 200 * ms}, 30_000, 550},
		{"ramp down", pace.Ramp{From: 200_000, To: 1_000, Over: 200 * ms}, 21_000, 550},
		{"long ramp", pace.Ramp{From: 1_000, To: 1_000_000, Over: 3_600_000 * ms}, 20_000, 16_500},
		{"slow ramp", pace.Ramp{From: 1, To: 3, Over: 10_000 * ms}, 100, 550},
	}
	m := live.NewMaker(t, compile(t, gen.Spec{}))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// So long ago that all are due.
			start := pace.Now() - tt.s.Due(uint64(tt.n)) - int64(time.Second)
			for i, due := range m.Dues(t, tt.s, start, tt.n) {
				want := start + tt.s.Due(uint64(i+1))
				if d := due - want; d > tt.within || -d > tt.within {
					t.Fatalf("frame %d is due at %d, %d ns from what it should", i+1, due-start, d)
				}
			}
		})
	}
}

// A schedule that never comes to its next frame does not overflow.
func TestDueNever(t *testing.T) {
	needRoot(t)
	m := live.NewMaker(t, compile(t, gen.Spec{}))
	for _, s := range []pace.Schedule{
		pace.Constant{Frames: 1, Ns: 1<<62 - 1},
		pace.Captured{Times: []int64{0, 1 << 60}, Num: 1, Den: 1 << 62, Period: 1 << 61},
	} {
		if due := m.Dues(t, s, pace.Now()-1000, 1)[0]; due != pace.Never {
			t.Errorf("%T: due at %d, want %d", s, due, int64(pace.Never))
		}
	}
}

func TestSummary(t *testing.T) {
	tests := []struct {
		name string
		late []uint64
		want port.SendError
	}{
		{"none", nil, port.SendError{}},
		{"one", []uint64{5}, port.SendError{P50: 5, P99: 5, P999: 5, Max: 5}},
		{"small ones are exact", []uint64{0, 1, 2, 3, 127}, port.SendError{P50: 2, P99: 127, P999: 127, Max: 127}},
		{"large", []uint64{1_000_000, 1_000_000, 1_000_000}, port.SendError{P50: 1_000_000, P99: 1_000_000, P999: 1_000_000, Max: 1_000_000}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			buckets := make([]uint64, 2048)
			var most uint64
			for _, v := range tt.late {
				buckets[bucket(v)]++
				most = max(most, v)
			}
			got := live.Summary(buckets, most)
			for _, v := range [][2]int64{{got.P50, tt.want.P50}, {got.P99, tt.want.P99}, {got.P999, tt.want.P999}, {got.Max, tt.want.Max}} {
				if d := v[0] - v[1]; d*100 > v[1] || -d*100 > v[1] {
					t.Errorf("have %+v, want %+v within 1 %%", got, tt.want)
					break
				}
			}
		})
	}
}

// bucket does as note does in live.bpf.c.
func bucket(v uint64) uint64 {
	e := uint64(0)
	for w := v >> 7; w > 0; w >>= 1 {
		e++
	}
	return e*64 + v>>e
}
