package scenarios

import (
	"fmt"

	"squall/internal/ledger"
)

// The results of a verdict.
const (
	Pass = "pass"
	Fail = "fail"
	Void = "void" // the tool did not do what was asked: nothing is known of the DUT
)

// Verdict is what a run comes to.
type Verdict struct {
	Result  string   `json:"result"`
	Reasons []string `json:"reasons"` // of a fail or void, the gravest first
	Checks  []Check  `json:"checks"`
}

// Check is one thing that was asked of the DUT.
type Check struct {
	Metric string `json:"metric"`
	Asked  string `json:"asked"`
	Seen   string `json:"seen"`
	Result string `json:"result"`
}

// DefaultTolerance is the share of a phase's asked rate that squall itself may
// fall short by before the run is void.
const DefaultTolerance = 0.01

// judge makes the verdict of a finished run. void has the reasons that are
// known already.
func judge(r *Result, phases []Phase, tolerance float64, void []string) Verdict {
	v := Verdict{Reasons: []string{}, Checks: []Check{}}
	for i, p := range r.Phases {
		void = append(void, p.shortfall(tolerance)...)
		if limit := phases[i].MaxLoss; limit != nil && r.RX != "" {
			v.Checks = append(v.Checks, check(p.Name+".loss_ratio", p.LossRatio(), *limit))
		}
		v.Checks = append(v.Checks, p.asIntended()...)
	}
	for _, t := range r.Ledger.Named {
		if t.Counter == ledger.RingDrops && t.Where == r.RX {
			void = append(void, fmt.Sprintf("squall's own receiver on %s lost %d frames: lower the rate, or free a core for it", t.Where, t.Frames))
		}
	}
	if r.RX != "" {
		v.Checks = append(v.Checks, unexplained(r.Ledger.Unexplained))
	}
	for _, c := range v.Checks {
		if c.Result == Fail {
			v.Reasons = append(v.Reasons, fmt.Sprintf("%s: asked %s, seen %s", c.Metric, c.Asked, c.Seen))
		}
	}
	switch {
	case len(void) > 0:
		v.Result = Void
		v.Reasons = append(void, v.Reasons...)
	case len(v.Reasons) > 0:
		v.Result = Fail
	default:
		v.Result = Pass
	}
	return v
}

func check(metric string, seen, limit float64) Check {
	c := Check{Metric: metric, Asked: fmt.Sprintf("<= %g", limit), Seen: fmt.Sprintf("%.3g", seen), Result: Pass}
	if seen > limit {
		c.Result = Fail
	}
	return c
}

func unexplained(n int64) Check {
	c := Check{Metric: "ledger.unexplained", Asked: "== 0", Seen: fmt.Sprint(n), Result: Pass}
	if n != 0 {
		c.Result = Fail
	}
	return c
}

// shortfall says where squall itself sent less than it was asked to.
func (p *PhaseResult) shortfall(tolerance float64) []string {
	var why []string
	if p.Failed > 0 {
		why = append(why, fmt.Sprintf("%s: %d frames could not be handed to the kernel", p.Name, p.Failed))
	}
	if p.Sent == 0 {
		return append(why, fmt.Sprintf("%s: no frame was sent", p.Name))
	}
	if p.AskedPPS > 0 && p.AchievedPPS < p.AskedPPS*(1-tolerance) {
		what := "lower the rate"
		if p.Slipped > 0 {
			what = fmt.Sprintf("it was held up and gave up %.1f ms of its schedule: lower the rate, leave it a core, or send for longer", float64(p.Slipped)/1e6)
		}
		why = append(why, fmt.Sprintf("%s: squall sent %.0f frames a second of the %.0f asked (%.2f %%): %s", p.Name,
			p.AchievedPPS, p.AskedPPS, 100*p.AchievedPPS/p.AskedPPS, what))
	}
	return why
}
