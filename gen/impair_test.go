package gen

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"squall/internal/plan"
)

func TestImpair(t *testing.T) {
	load := func(text string) []Spec {
		t.Helper()
		specs, err := Load("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return specs
	}
	// As a flag, and for two streams as a file.
	simple, err := Simple{}.Spec()
	if err != nil {
		t.Fatal(err)
	}
	simple.Impair = []string{"swap 1/2"}
	two := "impair: [swap 1/2]\nstreams: [{name: a}, {name: b, weight: 3}]"
	tests := []struct {
		name  string
		specs []Spec
		loop  uint64
		first []uint64 // frames of the plan that leave first
	}{
		{"one stream", []Spec{simple}, 2, []uint64{1, 0, 3, 2}},
		{"two streams", load(two), 4, []uint64{1, 0, 3, 2, 5}},
		{"none", load("impair: []\nstreams: [{name: a}]"), 0, []uint64{0, 1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src, err := Compile(tt.specs, Target{FirstStream: 1})
			if err != nil {
				t.Fatal(err)
			}
			if s := src.Plan.Script; s == nil && tt.loop > 0 || s != nil && s.Loop.In != tt.loop {
				t.Fatalf("script %+v, need a loop of %d", s, tt.loop)
			}
			var got []uint64
			for i := range tt.first {
				f, _ := src.Plan.Source(uint64(i))
				got = append(got, f)
			}
			if !slices.Equal(got, tt.first) {
				t.Errorf("frames %v leave, need %v", got, tt.first)
			}
		})
	}
}

// A time is so many frames at the rate.
func TestImpairByTime(t *testing.T) {
	tests := []struct {
		name, rate, own string
		cores           int
		by              uint32
	}{
		{"frames a second", "10kpps", "", 1, 30},
		{"of each core", "10kpps", "", 2, 15},
		{"bits", "67200kbit/l2", "", 1, 394}, // 64-byte frames, 131,250 a second
		{"the stream's own", "", "1kpps", 1, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := Spec{Impair: []string{"hold at 1 by 3ms"}, Rate: tt.own, Size: "64"}
			src, err := Compile([]Spec{spec}, Target{FirstStream: 1, Rate: tt.rate, Cores: tt.cores})
			if err != nil {
				t.Fatal(err)
			}
			if got := src.Plan.Script.First.Events[0].At; got != tt.by {
				t.Errorf("held back by %d frames, need %d", got, tt.by)
			}
		})
	}
}

func TestImpairRefused(t *testing.T) {
	tests := []struct {
		name, text, says string
	}{
		{"a rule", "seed: 1\nimpair:\n  - drop 2/100\n  - drop 2/x\nstreams: [{name: a}]", "x.yaml:4:5: impairment, column 6: \"2/x\""},
		{"no list", "impair: drop 1/2\nstreams: [{name: a}]", "x.yaml:1:9: impair: have"},
		{"a time without a rate", "impair: [hold 1/10 by 3ms]\nstreams: [{name: a}]", "need a rate that stays the same"},
		{"nothing left", "impair: [drop 1/2, drop 99%]\nstreams: [{name: a}]", ""},
		{"no common cycle", "impair: [drop 1/1021, drop 1/1031]\nstreams: [{name: a}]", "come round only after"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			specs, err := Load("x.yaml", []byte(tt.text))
			if err == nil {
				_, err = Compile(specs, Target{FirstStream: 1})
			}
			if tt.says == "" && err == nil {
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("have %v, need %q", err, tt.says)
			}
		})
	}
	if _, err := Compile([]Spec{{Name: "a", Impair: []string{"drop 1/2"}}, {Name: "b"}}, Target{}); err == nil || !strings.Contains(err.Error(), "of all streams together") {
		t.Errorf("have %v", err)
	}
}

// The mean size, which rates in bits are reckoned with, is that of what leaves.
func TestImpairedMean(t *testing.T) {
	src, err := Compile([]Spec{{Size: "64:1,1518:1", Impair: []string{"drop 1/2"}}}, Target{FirstStream: 1})
	if err != nil {
		t.Fatal(err)
	}
	var sum, n uint64 = 0, 400
	frame := make([]byte, src.Plan.MaxLen())
	for i := range n {
		sum += uint64(src.Plan.Write(frame, i, 0))
	}
	bytes, frames := src.Plan.Mean()
	if got, want := big.NewRat(int64(bytes), int64(frames)), big.NewRat(int64(sum), int64(n)); got.Cmp(want) != 0 {
		t.Errorf("mean %v, need %v", got, want)
	}
	if src.Plan.Script.Loop.Events[0].Kind != plan.Drop {
		t.Error("no drop")
	}
}
