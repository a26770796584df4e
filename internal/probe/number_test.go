package probe

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestDeltaFractions(t *testing.T) {
	count := func(f float64) Counter {
		c := Counter{Where: "dut", Name: "seconds"}
		c.set(f)
		return c
	}
	level := func(f float64) Counter {
		c := count(f)
		c.Level = true
		return c
	}
	tests := []struct {
		name          string
		before, after Counter
		want          Change
		moved         float64
	}{
		{"count", count(1.25), count(3.5), Change{Before: 1, After: 4, Moved: 2, Float: &Numbers{1.25, 3.5, 2.25}}, 2.25},
		{"count, whole by now", count(1.5), count(3), Change{Before: 2, After: 3, Moved: 2, Float: &Numbers{1.5, 3, 1.5}}, 1.5},
		{"count, began again", count(100.5), count(1.25), Change{Before: 101, After: 1, Moved: 1, Note: Reset, Float: &Numbers{100.5, 1.25, 1.25}}, 1.25},
		{"count, fell", count(100.5), count(100.25), Change{Before: 101, After: 100, Note: Fell, Float: &Numbers{100.5, 100.25, 0}}, 0},
		{"level", level(2.5), level(-1.5), Change{Before: 3, Level: true, Float: &Numbers{2.5, -1.5, 0}}, -4},
		{"level, whole", level(5), level(3), Change{Before: 5, After: 3, Level: true}, -2},
		{"a level by its sign now", count(5), level(-1), Change{Before: 5, Level: true, Float: &Numbers{5, -1, 0}}, -6},
		{"a level that it was", level(-1), count(5), Change{After: 5, Level: true, Float: &Numbers{-1, 5, 0}}, 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Where, tt.want.Name = "dut", "seconds"
			b, a := Reading{At: 1, Counters: []Counter{tt.before}}, Reading{At: 2, Counters: []Counter{tt.after}}
			got := Delta(b, a)
			if diff := cmp.Diff([]Change{tt.want}, got); diff != "" {
				t.Fatalf("Delta (-want +got):\n%s", diff)
			}
			if got[0].Numbers().Moved != tt.moved {
				t.Errorf("Moved: have %v, want %v", got[0].Numbers().Moved, tt.moved)
			}
			if shown := len(Moves(got)); shown != 1 {
				t.Errorf("Moves: have %d changes, want it shown", shown)
			}
			// What is kept over time says the same.
			h := history{keep: 10}
			for _, r := range []Reading{b, a} {
				if err := h.add(r, 0); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(got, h.changes(h.rows[0], h.rows[1])); diff != "" {
				t.Errorf("history (-Delta +history):\n%s", diff)
			}
		})
	}
}

func TestSet(t *testing.T) {
	tests := []struct {
		in    float64
		value uint64
		float float64
	}{
		{0, 0, 0}, {7, 7, 0}, {0.25, 0, 0.25}, {-3, 0, -3}, {1e30, math.MaxUint64, 1e30}, {1 << 63, 1 << 63, 0}, {2.5, 3, 2.5},
	}
	for _, tt := range tests {
		var c Counter
		c.set(tt.in)
		if c.Value != tt.value || c.Float != tt.float || c.Number() != tt.in {
			t.Errorf("%v: have %+v, number %v", tt.in, c, c.Number())
		}
	}
}

// The percentage of a CPU is of its own ticks, and needs no clock.
func TestShares(t *testing.T) {
	cpu := func(name, of string, v uint64) Counter { return Counter{Where: "cpu", Name: name, Value: v, Of: of} }
	before := Reading{Counters: []Counter{
		cpu("cpu0.softirq", "cpu0", 100), cpu("cpu0.idle", "cpu0", 1000), cpu("cpu0.iowait", "cpu0", 50),
		cpu("cpu1.softirq", "cpu1", 7), cpu("cpu1.idle", "cpu1", 7), {Where: "cpu", Name: "cpu0.khz", Value: 5, Level: true},
	}}
	after := Reading{Counters: []Counter{
		cpu("cpu0.softirq", "cpu0", 130), cpu("cpu0.idle", "cpu0", 1070), cpu("cpu0.iowait", "cpu0", 49),
		cpu("cpu1.softirq", "cpu1", 7), cpu("cpu1.idle", "cpu1", 7), {Where: "cpu", Name: "cpu0.khz", Value: 9, Level: true},
	}}
	want := map[string]float64{"cpu0.softirq": 30, "cpu0.idle": 70, "cpu0.iowait": 0, "cpu1.softirq": 0, "cpu1.idle": 0, "cpu0.khz": 0}
	got := map[string]float64{}
	for _, c := range Delta(before, after) {
		got[c.Name] = c.Share
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
}

func TestRank(t *testing.T) {
	changes := []Change{
		{Name: "still", Before: 5, After: 5},
		{Name: "half", Before: 100, After: 150, Moved: 50},
		{Name: "first, far", After: 9, Moved: 9},
		{Name: "level down", Before: 100, After: 10, Level: true},
		{Name: "first", After: 1, Moved: 1},
		{Name: "gone", Before: 5, Note: Gone},
		{Name: "twice", Before: 10, After: 30, Moved: 20},
	}
	Rank(changes)
	var got []string
	for _, c := range changes {
		got = append(got, c.Name)
	}
	want := []string{"first, far", "first", "twice", "level down", "half", "gone", "still"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
