package trials

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func of(setting string, values ...float64) (ts []Trial) {
	for _, v := range values {
		ts = append(ts, Trial{Setting: setting, Values: map[string]float64{"m": v}})
	}
	return ts
}

func TestOrder(t *testing.T) {
	if diff := cmp.Diff([]int{0, 1, 0, 1, 0, 1}, Order(2, 3, false, 0)); diff != "" {
		t.Errorf("in turn (-want +got):\n%s", diff)
	}
	a, b := Order(3, 100, true, 7), Order(3, 100, true, 7)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("one seed, two orders:\n%s", diff)
	}
	firsts := map[int]int{}
	for i := 0; i < len(a); i += 3 {
		firsts[a[i]]++
		if a[i]+a[i+1]+a[i+2] != 3 || a[i] == a[i+1] {
			t.Fatalf("block %v has not each setting once", a[i:i+3])
		}
	}
	if len(firsts) != 3 || firsts[0] > 60 {
		t.Errorf("blocks begin with %v", firsts)
	}
}

func TestTable(t *testing.T) {
	above := 25.0
	ts := append(of("a", 10, 20, 30, 41), of("b")...)
	ts = append(ts, Trial{Setting: "a", Void: true}, Trial{Setting: "a"}, Trial{Setting: "b", Void: true, Values: map[string]float64{"m": 1}})
	want := []Row{
		{Metric: "m", Setting: "a", Runs: 4, Void: 1, Missing: 1, Mean: 25.25, Median: 25, Min: 10, Max: 41, Above: 2, Threshold: &above},
		{Metric: "m", Setting: "b", Void: 1, Threshold: &above},
	}
	if diff := cmp.Diff(want, Table(ts, []string{"a", "b"}, []Metric{{"m", &above}})); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// drawn are values around a mean, of 10 % standard deviation.
func drawn(r *rand.Rand, mean float64, n int) (values []float64) {
	for range n {
		values = append(values, mean*(1+0.1*r.NormFloat64()))
	}
	return values
}

func TestDifferences(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tests := []struct {
		name  string
		a, b  []float64
		clear bool
		words string
	}{
		{"one fifth lower", drawn(r, 100, 16), drawn(r, 80, 16), true, "B lower by "},
		{"a third higher", drawn(r, 100, 16), drawn(r, 133, 16), true, "B higher by "},
		{"none", []float64{1, 2, 3, 4, 5, 6, 7, 8}, []float64{2, 1, 4, 3, 6, 5, 8, 7}, false, "no clear difference (p = 1)"},
		{"all alike", []float64{5, 5, 5, 5}, []float64{5, 5, 5, 5}, false, "no clear difference (p = 1)"},
		{"from nothing", []float64{0, 0, 0, 0, 0}, []float64{3, 4, 5, 6, 7}, true, "B higher by 3 to 7 (p = "},
		{"below nothing", []float64{-10, -11, -12, -13, -10.5}, []float64{-20, -21, -22, -23, -24}, true, "B lower by "},
		{"too few", []float64{1, 2, 3}, []float64{4, 5, 6, 7}, false, "too few runs to tell: have 3 and 4, need 4 of each"},
		{"none at all", nil, nil, false, "too few runs to tell: have 0 and 0, need 4 of each"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ds := Differences(append(of("A", tt.a...), of("B", tt.b...)...), []string{"A", "B"}, []Metric{{Name: "m"}})
			if len(ds) != 1 {
				t.Fatalf("%d differences, want one", len(ds))
			}
			if d := ds[0]; d.Clear != tt.clear || !strings.HasPrefix(d.Words, tt.words) {
				t.Errorf("%+v, want clear %v and %q", d, tt.clear, tt.words)
			}
		})
	}
}

// exact is the two-sided P of the Mann-Whitney U test by counting all ways to deal
// the ranks out.
func exact(a, b []float64) float64 {
	all := append(append([]float64(nil), a...), b...)
	u := func(member func(int) bool) (n float64) {
		for i, x := range all {
			for j, y := range all {
				if member(i) && !member(j) && x > y {
					n++
				}
			}
		}
		return n
	}
	middle := float64(len(a)*len(b)) / 2
	seen := math.Abs(u(func(i int) bool { return i < len(a) }) - middle)
	var as, ways float64
	for set := range 1 << len(all) {
		n := 0
		for i := range all {
			n += set >> i & 1
		}
		if n != len(a) {
			continue
		}
		ways++
		if math.Abs(u(func(i int) bool { return set>>i&1 == 1 })-middle) >= seen {
			as++
		}
	}
	return as / ways
}

func TestP(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		a, b := drawn(r, 100, 4+r.IntN(3)), drawn(r, 100+30*r.Float64(), 4+r.IntN(3))
		var d Difference
		d.compare(a, b)
		if want := exact(a, b); math.Abs(d.P-want) > 1e-9 {
			t.Errorf("p of %v and %v is %v, want %v", a, b, d.P, want)
		}
	}
}

// Of settings that do not differ at most one in twenty is said to.
func TestFalseAlarms(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	alarms := 0
	for range 200 {
		var d Difference
		d.compare(drawn(r, 100, 16), drawn(r, 100, 16))
		if d.Clear {
			alarms++
		}
	}
	if alarms > 17 { // 10 are to be expected, 17 once in a hundred seeds
		t.Errorf("%d of 200 differences where there is none", alarms)
	}
}
