package gen

import (
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/plan"
)

func TestParseSizes(t *testing.T) {
	tests := []struct {
		text  string
		lens  []int
		cycle []uint16
	}{
		{"64", []int{60}, []uint16{0}},
		{"64,128,256", []int{60, 124, 252}, []uint16{0, 1, 2}},
		{"64:7,594:4,1518:1", []int{60, 590, 1514}, []uint16{0, 1, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0}},
		{"imix", []int{60, 590, 1514}, []uint16{0, 1, 0, 0, 1, 0, 2, 1, 0, 0, 1, 0}},
		{" 64:2 , 100:2 ", []int{60, 96}, []uint16{0, 1}}, // in lowest terms
		{"64:3,100", []int{60, 96}, []uint16{0, 0, 1, 0}},
		{"64-66", []int{60, 61, 62}, nil},
		{"70-70", []int{66}, []uint16{0}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			z, err := ParseSizes(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plan.Sizes{Lens: tt.lens, Cycle: tt.cycle}, z); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, text := range []string{"", "x", "63", "-64", "64-", "1518-64", "64:0", "64:-1", "64:x", "64,,65", "66000", "64:1.5", "64:65536,65:1", "1e3"} {
		if _, err := ParseSizes(text); err == nil {
			t.Errorf("size %q is accepted", text)
		}
	}
}

// FuzzParseSizes: what is accepted has lengths in bounds, and a cycle in which
// each class comes.
func FuzzParseSizes(f *testing.F) {
	for _, s := range []string{"64", "64-1518", "imix", "64,128", "64:7,594:4", "64:4294967295,65:4294967295"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		z, err := ParseSizes(text)
		if err != nil {
			return
		}
		if z.Min() < 60 || z.Max() > 66000 {
			t.Fatalf("lengths from %d to %d", z.Min(), z.Max())
		}
		if z.Cycle == nil {
			return
		}
		for k := range z.Lens {
			if !slices.Contains(z.Cycle, uint16(k)) {
				t.Fatalf("class %d never comes", k)
			}
		}
	})
}

// TestInterleave: in a cycle each index comes as often as its weight says, and
// in every prefix as often as its share says, give or take half a slot for each
// index there is.
func TestInterleave(t *testing.T) {
	for _, weights := range [][]uint64{{1}, {7, 4, 1}, {1, 1, 1}, {100, 1}, {1000, 999, 1}, {3, 6, 9}, {5, 5, 5, 1, 17}} {
		order, err := interleave(weights, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		var total, g uint64
		for _, w := range weights {
			total += w
			g = gcd(g, w)
		}
		if uint64(len(order)) != total/g {
			t.Errorf("%v: have %d slots, need %d", weights, len(order), total/g)
		}
		come := make([]uint64, len(weights))
		for i, k := range order {
			come[k]++
			for k, w := range weights {
				share := float64(i+1) * float64(w) / float64(total)
				if d := float64(come[k]) - share; d > 1.01*float64(len(weights))/2 || d < -1.01*float64(len(weights))/2 {
					t.Errorf("%v: after %d slots index %d has come %d times, its share is %.2f", weights, i+1, k, come[k], share)
				}
			}
		}
		for k, w := range weights {
			if come[k] != w/g {
				t.Errorf("%v: index %d comes %d times in a cycle, need %d", weights, k, come[k], w/g)
			}
		}
	}
	if _, err := interleave([]uint64{1<<64 - 1, 1<<64 - 2}, 1<<20); err == nil {
		t.Error("a cycle without end is accepted")
	}
}

func TestRates(t *testing.T) {
	tests := []struct {
		name    string
		streams []Spec
		rate    *big.Rat
		counts  []uint64 // of the streams in the order; nil: no order
		err     bool
	}{
		{"one, max", []Spec{{}}, nil, nil, false},
		{"one, pps", []Spec{{Rate: "100kpps"}}, big.NewRat(100_000, 1), nil, false},
		{"one, layer 1", []Spec{{Rate: "1Gbit"}}, big.NewRat(1e9, 8*84), nil, false},
		{"one, layer 2", []Spec{{Rate: "1Gbit/l2", Size: "imix"}}, big.NewRat(1e9*12, 8*(7*64+4*594+1518)), nil, false},
		{"one, percent", []Spec{{Rate: "50%"}}, big.NewRat(5e8, 8*84), nil, false},
		{"weights", []Spec{{Weight: 3}, {}}, nil, []uint64{3, 1}, false},
		{"all max", []Spec{{Rate: "max"}, {Rate: "max"}}, nil, []uint64{1, 1}, false},
		{"pps", []Spec{{Rate: "100kpps"}, {Rate: "1Mpps"}, {Rate: "30kpps"}}, big.NewRat(1_130_000, 1), []uint64{10, 100, 3}, false},
		{"fractions", []Spec{{Rate: "0.5pps"}, {Rate: "0.75pps"}}, big.NewRat(5, 4), []uint64{2, 3}, false},
		{"bits of two sizes", []Spec{{Rate: "10Mbit"}, {Rate: "10Mbit", Size: "1518"}}, new(big.Rat).Add(big.NewRat(1e7, 8*84), big.NewRat(1e7, 8*1538)), []uint64{769, 42}, false},
		{"no common cycle", []Spec{{Rate: "1000001pps"}, {Rate: "999983pps"}}, nil, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src, err := Compile(tt.streams, testTarget)
			if tt.err {
				if err == nil {
					t.Fatal("accepted")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if (tt.rate == nil) != (src.Rate == nil) || tt.rate != nil && tt.rate.Cmp(src.Rate) != 0 {
				t.Errorf("rate: have %v, need %v", src.Rate, tt.rate)
			}
			var counts []uint64
			for _, k := range src.Plan.Order {
				for len(counts) <= int(k) {
					counts = append(counts, 0)
				}
				counts[k]++
			}
			if diff := cmp.Diff(tt.counts, counts); diff != "" {
				t.Errorf("slots of the streams (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := Compile([]Spec{{Rate: "50%"}}, Target{}); err == nil {
		t.Error("percent of an unknown link is accepted")
	}
}
