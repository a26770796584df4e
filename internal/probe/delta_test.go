package probe

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDelta(t *testing.T) {
	tests := []struct {
		name          string
		bits          uint8
		level         bool
		before, after uint64
		moved         uint64
		note          Note
	}{
		{"still", 64, false, 7, 7, 0, ""},
		{"up", 64, false, 7, 10, 3, ""},
		{"up over 2^32", 64, false, 1<<32 - 1, 1<<32 + 1, 2, ""},
		{"32 bits wrap", 32, false, math.MaxUint32 - 1, 8, 10, Wrapped},
		{"32 bits wrap, the longest", 32, false, 1<<31 + 1, 0, 1<<31 - 1, Wrapped},
		{"32 bits reset", 32, false, 1 << 31, 0, 0, Reset},
		{"32 bits reset and on", 32, false, 1000, 10, 10, Reset},
		{"64 bits reset", 64, false, 4_000_000_000, 10, 10, Reset},
		{"64 bits wrap", 64, false, math.MaxUint64, 4, 5, Wrapped},
		{"width unknown, small: reset", 0, false, 1000, 10, 10, Reset},
		{"width unknown, 32 bits nearly full: wrap", 0, false, 4_000_000_000, 10, 294_967_306, Wrapped},
		{"width unknown, over 32 bits: reset", 0, false, 5_000_000_000, 10, 10, Reset},
		{"width unknown, fell by less than half: a level", 0, false, 1000, 501, 0, Fell},
		{"width unknown, over 32 bits, a level", 0, false, 9_000_000_000, 8_000_000_000, 0, Fell},
		{"width unknown, 64 bits nearly full: wrap", 0, false, math.MaxUint64, 4, 5, Wrapped},
		{"level falls", 32, true, 5, 1, 0, ""},
		{"level rises", 32, true, 1, 5, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reading := func(v uint64) Reading {
				return Reading{Counters: []Counter{{Where: "eth1", Name: "c", Value: v, Bits: tt.bits, Level: tt.level}}}
			}
			want := []Change{{Where: "eth1", Name: "c", Before: tt.before, After: tt.after, Moved: tt.moved, Level: tt.level, Note: tt.note}}
			if diff := cmp.Diff(want, Delta(reading(tt.before), reading(tt.after))); diff != "" {
				t.Errorf("Delta (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeltaSets(t *testing.T) {
	before := Reading{Counters: []Counter{
		{Where: "eth1", Name: "gone", Value: 1}, {Where: "eth1", Name: "a", Value: 1}, {Where: "eth2", Name: "a", Value: 5},
		{Where: "eth1", Name: "carrier", Value: 1, Level: true}, {Where: "eth2", Name: "carrier", Value: 1, Level: true},
	}}
	after := Reading{Counters: []Counter{
		{Where: "eth2", Name: "a", Value: 5}, {Where: "eth1", Name: "a", Value: 4}, {Where: "eth1", Name: "new", Value: 9},
		{Where: "eth1", Name: "carrier", Level: true}, {Where: "eth2", Name: "carrier", Value: 1, Level: true},
	}}
	got := Delta(before, after)
	want := []Change{
		{Where: "eth2", Name: "a", Before: 5, After: 5},
		{Where: "eth1", Name: "a", Before: 1, After: 4, Moved: 3},
		{Where: "eth1", Name: "new", After: 9, Note: New},
		{Where: "eth1", Name: "carrier", Before: 1, Level: true},
		{Where: "eth2", Name: "carrier", Before: 1, After: 1, Level: true},
		{Where: "eth1", Name: "gone", Before: 1, Note: Gone},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Delta (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Change{want[1], want[2], want[3], want[5]}, Moves(got)); diff != "" {
		t.Errorf("Moves (-want +got):\n%s", diff)
	}
}

// A counter that is fed any number of events shows them, whatever its width,
// as long as they are fewer than half its range.
func FuzzMoved(f *testing.F) {
	f.Add(uint64(0), uint64(0), false)
	f.Add(uint64(math.MaxUint32), uint64(1), true)
	f.Add(uint64(math.MaxUint64), uint64(1), false)
	f.Fuzz(func(t *testing.T, before, events uint64, narrow bool) {
		bits, after := uint8(64), uint64(0)
		if narrow {
			bits, before, events = 32, before&math.MaxUint32, events&(1<<31-1)
			after = (before + events) & math.MaxUint32
		} else {
			events &= 1<<63 - 1
			after = before + events
		}
		if got, note := moved(before, after, bits); got != events || note == Reset {
			t.Errorf("moved(%d, %d, %d): have %d %q, want %d", before, after, bits, got, note, events)
		}
	})
}

type fake struct {
	r   Reading
	err error
}

func (fake) Name() string             { return "fake" }
func (f fake) Read() (Reading, error) { return f.r, f.err }

func TestSetKeepsWhatCouldBeRead(t *testing.T) {
	boom := errors.New(`link "eth9": gone`)
	one := Counter{Where: "eth1", Name: "a", Value: 1}
	two := Counter{Where: "eth2", Name: "a", Value: 2}
	s := Set{Title: "both", Probes: []Probe{fake{r: Reading{Counters: []Counter{one}}}, fake{err: boom}, fake{r: Reading{Counters: []Counter{two}}}}}
	start := now()
	r, err := s.Read()
	if !errors.Is(err, boom) {
		t.Errorf("error: have %v, want %v", err, boom)
	}
	if diff := cmp.Diff([]Counter{one, two}, r.Counters); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	if r.At < start || r.At > now() {
		t.Errorf("At: have %d, want it during the read", r.At)
	}
	if v, ok := r.Value("eth2", "a"); v != 2 || !ok {
		t.Errorf("Value: have %d %v, want 2 true", v, ok)
	}
	if _, ok := r.Value("eth3", "a"); ok || !strings.Contains(err.Error(), "eth9") {
		t.Errorf("Value of a counter that is not there: %v; error %v", ok, err)
	}
}
