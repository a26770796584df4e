package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"squall/internal/ledger"
	"squall/scenarios"
)

// other is a run like storm, but of other ports, with a faster storm that lost less, a
// phase more, and no send times.
func other() *scenarios.Result {
	r := failed()
	r.TX, r.RX, r.Version = "eth1", "eth2", "0.2.0"
	x := &r.Phases[1]
	x.Asked, x.AskedPPS, x.AchievedPPS, x.AchievedMbit, x.Engine = "30kpps", 30000, 29000, 19.488, "xdp"
	x.Sent, x.Received, x.Lost, x.Retries = 145000, 101000, 44000, 3
	x.Bursts[0].Frames = 44000
	x.Latency = scenarios.Latency{}
	r.Phases = append(r.Phases, scenarios.PhaseResult{Name: "return"})
	r.Ledger = ledger.Ledger{Sent: 170000, Received: 126000, Unexplained: -5, Named: []ledger.Term{
		{Where: "eth1", Counter: "tx_dropped", Frames: 1005},
		{Where: "eth2", Counter: "rx_missed_errors", Frames: 43000},
	}}
	r.Verdict.Checks = append(r.Verdict.Checks, scenarios.Check{Metric: "baseline.loss_ratio", Asked: "<= 0.1", Seen: "0", Result: scenarios.Pass})
	return r
}

// pairs is a run of two pairs.
func pairs(of ...*scenarios.Result) *scenarios.Result {
	r := storm()
	r.TX, r.RX, r.Pairs = "", "", of
	for i, x := range of {
		if i > 0 {
			r.TX, r.RX = r.TX+", ", r.RX+", "
		}
		r.TX, r.RX = r.TX+x.TX, r.RX+x.RX
	}
	return r
}

func TestCompare(t *testing.T) {
	died, err := LoadPartial(stories(t)["killed"])
	if err != nil {
		t.Fatal(err)
	}
	several, err := LoadPartial(stories(t)["several"])
	if err != nil {
		t.Fatal(err)
	}
	noPhase := storm()
	noPhase.Phases = nil
	tests := []struct {
		name string
		a, b Side
	}{
		{"same", SideOf("runs/a", storm()), SideOf("runs/b", storm())},
		{"other", SideOf("runs/a", storm()), SideOf("runs/b", other())},
		{"only-sent", SideOf("runs/a", storm()), SideOf("runs/b", onlySent())},
		{"pairs", SideOf("runs/a", pairs(storm(), storm())), SideOf("runs/b", pairs(other(), storm()))},
		{"more-pairs", SideOf("runs/a", storm()), SideOf("runs/b", pairs(storm(), storm()))},
		{"died", SideOf("runs/a", storm()), SideOfPartial("runs/b", died)},
		{"several-died", SideOfPartial("runs/a", several), SideOfPartial("runs/b", several)},
		{"no-phase", SideOf("runs/a", noPhase), SideOf("runs/b", noPhase)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Compare(tt.a, tt.b)
			var b bytes.Buffer
			if err := ComparisonText(&b, c); err != nil {
				t.Fatal(err)
			}
			golden(t, "compare-"+tt.name+".txt", b.Bytes())
			b.Reset()
			if err := JSON(&b, c); err != nil {
				t.Fatal(err)
			}
			golden(t, "compare-"+tt.name+".json", b.Bytes())
			if strings.Contains(b.String(), ": null,\n") && tt.name == "same" {
				t.Error("what is the same differs")
			}
		})
	}
}

// Every figure that is compared is a key of a phase in run.json, or one of the two that
// are worked out; and every figure of a phase is compared.
func TestFigures(t *testing.T) {
	r := whole()
	have := measure(&r.Phases[1], true, nil).values
	if len(have) != len(figures) {
		t.Errorf("%d figures of a phase, %d are compared", len(have), len(figures))
	}
	line, err := json.Marshal(r.Phases[1])
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(line, &keys); err != nil {
		t.Fatal(err)
	}
	for _, f := range figures {
		v, ok := have[f.key]
		if !ok {
			t.Errorf("%s is not taken of a phase", f.key)
		}
		key, sub, nested := strings.Cut(f.key, ".")
		want := keys[key]
		if nested {
			m, _ := want.(map[string]any)
			want = m[sub]
		}
		switch {
		case key == "loss_ratio" || key == "largest_burst":
			if want != nil {
				t.Errorf("%s is a key of run.json", key)
			}
		case want != v:
			t.Errorf("%s is %v, run.json has %v", f.key, v, want)
		}
	}
}

func TestRelative(t *testing.T) {
	tests := []struct {
		name string
		a, b float64
		want string
	}{
		{"the half", 10, 5, "-50 %"},
		{"all of it", 10, 0, "-100 %"},
		{"hardly more", 1e9, 1e9 + 1, "+1e-07 %"},
		{"nearly eleven times", 1, 10.9, "+990 %"},
		{"eleven times", 1, 11, "11 times"},
		{"thousands of times", 3.78e3, 50e6, "13,228 times"},
		{"of nothing", 0, 5, "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := relative(difference("sent", tt.a, true, tt.b, true).Relative); got != tt.want {
				t.Errorf("have %q, want %q", got, tt.want)
			}
		})
	}
}

// Phases of one name are compared in their order.
func TestComparePhases(t *testing.T) {
	phases := func(names string) (all []measured) {
		for i, n := range strings.Split(names, " ") {
			all = append(all, measured{name: n, values: map[string]float64{"sent": float64(i)}})
		}
		return all
	}
	tests := []struct{ name, a, b, want string }{
		{"same", "x y", "x y", "x y"},
		{"one missing", "x y z", "x z", "x y:a z:1"},
		{"one more", "x z", "x y z", "x z:1 y:b"},
		{"one name twice", "x y x", "x x y", "x y:1 x:1"},
		{"one name twice and once", "x x", "x", "x x:a"},
		{"once and twice", "x", "x x", "x x:b"},
		{"all others", "x", "y", "x:a y:b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range comparePhases(phases(tt.a), phases(tt.b)) {
				s := d.Name
				if d.Only != "" {
					s += ":" + d.Only
				}
				for _, f := range d.Figures {
					s += ":1"
					if *f.Difference == 0 {
						t.Errorf("%s: a difference of 0", s)
					}
				}
				got = append(got, s)
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("have %q, want %q", s, tt.want)
			}
		})
	}
}
