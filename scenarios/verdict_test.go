package scenarios

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/ledger"
)

func TestJudge(t *testing.T) {
	limit := func(f float64) *float64 { return &f }
	lost := func(n uint64) PhaseResult {
		return PhaseResult{Name: "p", AskedPPS: 1000, AchievedPPS: 1000, Sent: 1000, Received: 1000 - n, Lost: n}
	}
	tests := []struct {
		name      string
		r         Result // of ports a and b unless it names others
		limits    []*float64
		tolerance float64
		void      []string
		want      string
		reasons   []string // a part of each
		checks    []string // their results
	}{
		{name: "nothing lost", r: Result{Phases: []PhaseResult{lost(0)}}, limits: []*float64{limit(0)}, want: Pass, checks: []string{Pass, Pass}},
		{name: "one lost of none", r: Result{Phases: []PhaseResult{lost(1)}}, limits: []*float64{limit(0)}, want: Fail, reasons: []string{"p.loss_ratio"}, checks: []string{Fail, Pass}},
		{name: "lost, as many as may be", r: Result{Phases: []PhaseResult{lost(10)}}, limits: []*float64{limit(0.01)}, want: Pass, checks: []string{Pass, Pass}},
		{name: "lost, one more than may be", r: Result{Phases: []PhaseResult{lost(11)}}, limits: []*float64{limit(0.01)}, want: Fail, reasons: []string{"p.loss_ratio"}, checks: []string{Fail, Pass}},
		{name: "any loss", r: Result{Phases: []PhaseResult{lost(999)}}, limits: []*float64{nil}, want: Pass, checks: []string{Pass}},
		{name: "the second phase fails", r: Result{Phases: []PhaseResult{lost(5), lost(5)}}, limits: []*float64{nil, limit(0)}, want: Fail, reasons: []string{"p.loss_ratio"}, checks: []string{Fail, Pass}},
		{name: "unexplained", r: Result{Phases: []PhaseResult{lost(5)}, Ledger: ledger.Ledger{Unexplained: 5}}, limits: []*float64{nil}, want: Fail, reasons: []string{"ledger.unexplained"}, checks: []string{Fail}},
		{name: "more named than missing", r: Result{Phases: []PhaseResult{lost(0)}, Ledger: ledger.Ledger{Unexplained: -1}}, limits: []*float64{nil}, want: Fail, reasons: []string{"seen -1"}, checks: []string{Fail}},
		{name: "no receiver", r: Result{RX: "-", Phases: []PhaseResult{lost(1000)}}, limits: []*float64{limit(0)}, want: Pass},
		{
			name: "sent as much as the tolerance allows", r: Result{Phases: []PhaseResult{{Name: "p", AskedPPS: 1000, AchievedPPS: 990, Sent: 990, Received: 990}}},
			limits: []*float64{limit(0)}, want: Pass, checks: []string{Pass, Pass},
		},
		{
			name: "sent less than the tolerance allows", r: Result{Phases: []PhaseResult{{Name: "p", AskedPPS: 1000, AchievedPPS: 989.9, Sent: 990, Received: 990}}},
			limits: []*float64{limit(0)}, want: Void, reasons: []string{"98.99 %"}, checks: []string{Pass, Pass},
		},
		{
			name: "a wider tolerance", r: Result{Phases: []PhaseResult{{Name: "p", AskedPPS: 1000, AchievedPPS: 750, Sent: 990, Received: 990}}},
			limits: []*float64{limit(0)}, tolerance: 0.25, want: Pass, checks: []string{Pass, Pass},
		},
		{
			name: "no rate asked", r: Result{Phases: []PhaseResult{{Name: "p", AchievedPPS: 1, Sent: 990, Received: 990}}},
			limits: []*float64{limit(0)}, want: Pass, checks: []string{Pass, Pass},
		},
		{
			name: "nothing sent", r: Result{Phases: []PhaseResult{{Name: "p", AskedPPS: 1000}}},
			limits: []*float64{limit(0)}, want: Void, reasons: []string{"no frame was sent"}, checks: []string{Pass, Pass},
		},
		{
			name: "frames that the kernel did not take", r: Result{Phases: []PhaseResult{{Name: "p", Sent: 10, Received: 10, Failed: 3}}},
			limits: []*float64{nil}, want: Void, reasons: []string{"3 frames could not be handed"}, checks: []string{Pass},
		},
		{
			name: "squall's own ring overran", r: Result{Phases: []PhaseResult{lost(7)}, Ledger: ledger.Ledger{Named: []ledger.Term{{Where: "b", Counter: ledger.RingDrops, Frames: 7}}}},
			limits: []*float64{nil}, want: Void, reasons: []string{"own receiver on b lost 7"}, checks: []string{Pass},
		},
		{
			name: "void before fail, with the reasons of both", r: Result{Phases: []PhaseResult{lost(7)}, Ledger: ledger.Ledger{Unexplained: 7}},
			limits: []*float64{limit(0)}, void: []string{"port a: link lost"}, want: Void,
			reasons: []string{"port a: link lost", "p.loss_ratio", "ledger.unexplained"}, checks: []string{Fail, Fail},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.r
			r.TX = "a"
			switch r.RX {
			case "":
				r.RX = "b"
			case "-":
				r.RX = ""
			}
			var phases []Phase
			for _, l := range tt.limits {
				phases = append(phases, Phase{MaxLoss: l})
			}
			if tt.tolerance == 0 {
				tt.tolerance = DefaultTolerance
			}
			v := judge(&r, phases, tt.tolerance, tt.void)
			if v.Result != tt.want {
				t.Errorf("result %q, want %q: %+v", v.Result, tt.want, v)
			}
			if len(v.Reasons) != len(tt.reasons) {
				t.Fatalf("reasons %q, want %q", v.Reasons, tt.reasons)
			}
			for i, s := range tt.reasons {
				if !strings.Contains(v.Reasons[i], s) {
					t.Errorf("reason %q does not say %q", v.Reasons[i], s)
				}
			}
			var checks []string
			for _, c := range v.Checks {
				checks = append(checks, c.Result)
			}
			if diff := cmp.Diff(tt.checks, checks); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
		})
	}
}
