package metrics

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func figures() Figures {
	f := Figures{Values: map[string]float64{
		"baseline.loss_ratio": 0, "return.loss_ratio": 2e-6, "return.recovery": 3.5e9, "return.latency.p99": 120e3,
		"baseline.latency.p99": 70e3, "baseline.cpu.softirq": 42.7, "return.cpu.softirq": 50.8, "storm.achieved_pps": 2.7e6,
		"storm.dut.dev.igc.0.crc_errs": 3, "return.lost": 7,
	}, Series: map[string][]Point{}}
	for i := range 60 {
		f.Series["return.cpu.softirq"] = append(f.Series["return.cpu.softirq"], Point{At: int64(i) * 60e9, Value: 50 + float64(i)/60*3})
	}
	return f
}

func TestCheck(t *testing.T) {
	tests := []struct {
		text string
		want Check
	}{
		{"return.cpu.softirq - baseline.cpu.softirq <= 2", Check{"return.cpu.softirq - baseline.cpu.softirq", "<= 2", "8.1", Fail}},
		{"return.loss_ratio <= 1e-6", Check{"return.loss_ratio", "<= 1e-6", "2e-06", Fail}},
		{"baseline.loss_ratio == 0", Check{"baseline.loss_ratio", "== 0", "0", Pass}},
		{"return.loss_ratio < 0.1 %", Check{"return.loss_ratio", "< 0.1 %", "2e-06", Pass}},
		{"return.loss_ratio < 0.1% and return.lost > 0", Check{"return.loss_ratio < 0.1% and return.lost > 0", "holds", "true", Pass}},
		{"return.lost % 2 == 1", Check{"return.lost % 2", "== 1", "", ""}},
		{"return.recovery <= 5s", Check{"return.recovery", "<= 5s", "3.5s", Pass}},
		{"return.recovery <= 2 s", Check{"return.recovery", "<= 2 s", "3.5s", Fail}},
		{"return.recovery <= 1m", Check{"return.recovery", "<= 1m", "3.5s", Pass}},
		{"return.latency.p99 <= 2 * baseline.latency.p99", Check{"return.latency.p99", "<= 2 * baseline.latency.p99", "1.2e+05", Pass}},
		{"slope(return.cpu.softirq) <= 1/h", Check{"slope(return.cpu.softirq)", "<= 1/h", "3/h", Fail}},
		{"slope(return.cpu.softirq) <= 4/h", Check{"slope(return.cpu.softirq)", "<= 4/h", "3/h", Pass}},
		{"storm.achieved_pps >= 2.6Mpps", Check{"storm.achieved_pps", ">= 2.6Mpps", "2.7e+06", Pass}},
		{`storm.dut["dev.igc.0.crc_errs"] == 0`, Check{`storm.dut["dev.igc.0.crc_errs"]`, "== 0", "3", Fail}},
		{"max(return.lost, baseline.loss_ratio) == 7", Check{"max(return.lost, baseline.loss_ratio)", "== 7", "7", Pass}},
		{"return.gone == 0", Check{"return.gone", "== 0", "no such figure: return.gone", Void}},
		{"slope(return.gone) == 0", Check{"slope(return.gone)", "== 0", "slope of return.gone: fewer than 3 samples", Void}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			x, err := Compile(tt.text)
			if tt.want.Result == "" { // % is for whole numbers, and says so
				if err == nil || !strings.HasPrefix(err.Error(), "column ") {
					t.Fatalf("error %v, want one with its column", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, x.Check(figures())); diff != "" {
				t.Errorf("check (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	x, err := Compile(`slope(a.b.c) <= 1/h or d.e["f.g"] - d.h > 5ms`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.b.c", "d.e.f.g", "d.h"}, x.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestCompileErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no bool", "a.b + 1", "expected bool"},
		{"half", "a.b <=", "column 6: unexpected token EOF"},
		{"a lone word", "storm <= 1", "column 1: unknown name storm"},
		{"no function", "median3(a.b) < 1", "unknown name median3"},
		{"behind units", "5ms < 6s and storm", "column 14: unknown name storm"},
		{"nothing", "", "unexpected token EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Compile(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestTheilSen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{3, 50, 1000, 5000} {
		var ps []Point
		for i := range n {
			v := 7 + 0.25*float64(i) + r.NormFloat64()*0.01
			if i%5 == 4 {
				v += 1000 * r.NormFloat64() // a fifth are outliers
			}
			ps = append(ps, Point{int64(i), v})
		}
		tr, err := TheilSen(ps)
		if err != nil {
			t.Fatal(err)
		}
		if n >= 50 && n <= most && math.Abs(tr.Slope-0.25) > 0.01 || !(tr.Low <= tr.Slope && tr.Slope <= tr.High) {
			t.Errorf("%d samples: %+v, want a slope of 0.25", n, tr)
		}
	}
	flat := []Point{{0, 5}, {1, 5}, {2, 5}, {3, 5}}
	if tr, err := TheilSen(flat); err != nil || tr.Slope != 0 || tr.Low != 0 || tr.High != 0 {
		t.Errorf("flat: %+v, %v", tr, err)
	}
	if _, err := TheilSen([]Point{{1, 1}, {1, 2}, {1, 3}}); err == nil {
		t.Error("samples of one moment have a slope")
	}
}

func FuzzCompile(f *testing.F) {
	f.Add("return.cpu.softirq - baseline.cpu.softirq <= 2")
	f.Add(`slope(a["b"].c) < 1/h and 3% < b.c`)
	f.Fuzz(func(t *testing.T, text string) {
		if x, err := Compile(text); err == nil {
			x.Check(figures())
		}
	})
}
