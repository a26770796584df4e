package probe

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// keepAll adds readings a second apart.
func keepAll(t testing.TB, h *history, readings ...[]Counter) {
	t.Helper()
	for i, cs := range readings {
		if err := h.add(Reading{At: int64(i+1) * 1e9, Counters: cs}, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHistorySpans(t *testing.T) {
	c := func(v uint64) []Counter { return []Counter{{Where: "eth1", Name: "c", Value: v, Bits: 32}} }
	h := history{keep: 10}
	keepAll(t, &h, c(4_000_000_000), c(5), c(4_000_000_000/2), c(3), c(10), nil, nil, c(12))
	tests := []struct {
		name     string
		from, to int
		want     []Change
	}{
		// 294,967,301 to the wrap, on to 2,000,000,000, reset to 3, on to 10.
		{"a wrap and a reset", 0, 4, []Change{{Before: 4_000_000_000, After: 10, Moved: 294_967_301 + 1_999_999_995 + 3 + 7, Note: Reset}}},
		{"the wrap", 0, 1, []Change{{Before: 4_000_000_000, After: 5, Moved: 294_967_301, Note: Wrapped}}},
		{"after it", 1, 2, []Change{{Before: 5, After: 2_000_000_000, Moved: 1_999_999_995}}},
		{"gone", 4, 5, []Change{{Before: 10, Note: Gone}}},
		{"not there", 5, 6, []Change{}},
		{"back", 6, 7, []Change{{After: 12, Note: New}}},
		{"over the absence", 4, 7, []Change{{Before: 10, After: 12, Moved: 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for i := range tt.want {
				tt.want[i].Where, tt.want[i].Name = "eth1", "c"
			}
			if diff := cmp.Diff(tt.want, h.changes(h.rows[tt.from], h.rows[tt.to])); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHistoryNearest(t *testing.T) {
	h := history{keep: 10}
	if got := h.nearest(5); got != -1 {
		t.Errorf("empty: have %d, want -1", got)
	}
	keepAll(t, &h, nil, nil, nil) // 1 s, 2 s, 3 s
	for at, want := range map[int64]int{0: 0, 1e9: 0, 14e8: 0, 16e8: 1, 2e9: 1, 26e8: 2, 9e9: 2} {
		if got := h.nearest(at); got != want {
			t.Errorf("%d ns: have row %d, want %d", at, got, want)
		}
	}
}

// A reading that is no newer than the last is none of its own, but may be an edge.
func TestHistorySameTime(t *testing.T) {
	h := history{keep: 10}
	for _, edge := range []int64{0, 5, 0} {
		if err := h.add(Reading{At: 7, Counters: []Counter{n("a", 1)}}, edge); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.rows) != 1 || h.rows[0].edge != 5 {
		t.Errorf("have %+v, want one row, of edge 5", h.rows)
	}
}

func TestHistoryNamesBounded(t *testing.T) {
	h := history{keep: 4}
	var many []Counter
	for i := range maxColumns + 3 {
		many = append(many, Counter{Where: "x", Name: string(rune(i + 0x10000))})
	}
	if err := h.add(Reading{At: 1, Counters: many}, 0); err == nil || len(h.columns) != maxColumns {
		t.Errorf("have %d columns, error %v; want %d and an error", len(h.columns), err, maxColumns)
	}
}

// Rows go, edges stay, and the sums stay right: every counter adds up to what
// was counted, whatever it did and whatever was thinned out.
func TestHistoryThin(t *testing.T) {
	const keep, readings = 16, 1000
	rng := rand.New(rand.NewPCG(1, 2))
	h := history{keep: keep}
	var value, total uint64
	totals := map[int64]uint64{}
	for at := int64(1); at <= readings; at++ {
		switch more := rng.Uint64N(1 << 30); {
		case at > 1 && value > 1<<10 && value < 1<<31 && rng.IntN(5) == 0: // reset
			value = rng.Uint64N(value / 2)
			total += value
		case at > 1:
			value = uint64(uint32(value + more))
			total += more
		}
		totals[at] = total
		var edge int64
		if at == 3 {
			edge = 1e12 // known by its own time, however far
		}
		if err := h.add(Reading{At: at, Counters: []Counter{{Where: "a", Name: "b", Value: value, Bits: 32}}}, edge); err != nil {
			t.Fatal(err)
		}
		if len(h.rows) > keep {
			t.Fatalf("after %d readings: have %d rows, need at most %d", at, len(h.rows), keep)
		}
	}
	if h.rows[0].at != 1 || h.rows[len(h.rows)-1].at != readings {
		t.Errorf("have rows from %d to %d, want the first and the last", h.rows[0].at, h.rows[len(h.rows)-1].at)
	}
	if at := h.rows[h.nearest(1e12)].at; at != 3 {
		t.Errorf("edge at 3: have the row at %d", at)
	}
	for i := range h.rows {
		for k := i + 1; k < len(h.rows); k++ {
			got := h.changes(h.rows[i], h.rows[k])[0].Moved
			if want := totals[h.rows[k].at] - totals[h.rows[i].at]; got != want {
				t.Errorf("from %d to %d: have %d moved, want %d", h.rows[i].at, h.rows[k].at, got, want)
			}
		}
	}
	if jumps := len(h.columns[0].jumps); jumps > keep {
		t.Errorf("have %d jumps, need at most one a row", jumps)
	}
}

// A history of nothing but edges is bounded too.
func TestHistoryOfEdges(t *testing.T) {
	h := history{keep: 8}
	for at := range int64(1000) {
		if err := h.add(Reading{At: at + 1}, 1); err != nil {
			t.Fatal(err)
		}
		if len(h.rows) > 8 {
			t.Fatalf("have %d rows", len(h.rows))
		}
	}
}

// FuzzHistory: between the ends, thinned or not, moved what moved step by step.
func FuzzHistory(f *testing.F) {
	f.Add([]byte{1, 2, 3, 255, 0, 7}, uint8(0))
	f.Add([]byte{200, 100, 50, 0, 200, 1, 1, 1, 1, 99, 3, 3}, uint8(32))
	f.Fuzz(func(t *testing.T, values []byte, bits uint8) {
		if len(values) == 0 {
			return
		}
		h := history{keep: 4}
		counter := func(i int) Counter { return Counter{Where: "a", Name: "b", Value: uint64(values[i]) << 24, Bits: bits} }
		var want uint64
		for i := range values {
			if i > 0 {
				want += compare(counter(i-1), counter(i)).Moved
			}
			if err := h.add(Reading{At: int64(i + 1), Counters: []Counter{counter(i)}}, int64(1-min(i%5, 1))); err != nil {
				t.Fatal(err)
			}
		}
		if got := h.changes(h.rows[0], h.rows[len(h.rows)-1])[0].Moved; got != want {
			t.Errorf("have %d moved, want %d", got, want)
		}
	})
}
