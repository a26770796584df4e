package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"squall/scenarios"
)

// figure is one that is compared.
type figure struct {
	key, label string
	draw       func(float64) string
}

// figures are in the order in which they are drawn.
var figures = []figure{
	{"asked_pps", "asked pps", decimal},
	{"achieved_pps", "achieved pps", decimal},
	{"achieved_mbit", "Mbit/s", decimal},
	{"seconds", "seconds", func(f float64) string { return fmt.Sprintf("%.3f", f) }},
	{"sent", "sent", whole64},
	{"retries", "retries", whole64},
	{"failed", "failed", whole64},
	{"slipped_ns", "slipped", time64},
	{"send_error_ns.p50", "send error p50", time64},
	{"send_error_ns.p99", "send error p99", time64},
	{"send_error_ns.p999", "send error p99.9", time64},
	{"send_error_ns.max", "send error max", time64},
	{"received", "received", whole64},
	{"lost", "lost", whole64},
	{"loss_ratio", "loss", percent},
	{"duplicated", "duplicated", whole64},
	{"reordered", "reordered", whole64},
	{"late", "late", whole64},
	{"foreign", "foreign", whole64},
	{"burst_count", "drop bursts", whole64},
	{"largest_burst", "frames of the largest burst", whole64},
	{"loss_period_count", "loss periods", whole64},
	{"latency_ns.min", "latency min", time64},
	{"latency_ns.p50", "latency p50", time64},
	{"latency_ns.p99", "latency p99", time64},
	{"latency_ns.p999", "latency p99.9", time64},
	{"latency_ns.max", "latency max", time64},
}

func whole64(f float64) string { return count(uint64(math.Round(f))) }
func time64(f float64) string  { return nanoseconds(int64(math.Round(f))) }

// ComparisonText draws for people where two runs differ.
func ComparisonText(w io.Writer, c *Comparison) error {
	p := &page{}
	p.side("A", &c.A)
	p.side("B", &c.B)
	for _, d := range c.Accounts {
		p.accountDifference(&d, len(c.Accounts) > 1)
	}
	p.checks(c)
	p.printf("\nThese are differences of one run from another, and say nothing of chance: whether\ntwo settings differ takes several runs of each.\n")
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) side(which string, s *Side) {
	p.printf("%s  %s", which, s.Path)
	for _, x := range []string{s.Name, s.Version} {
		if x != "" {
			p.printf("  %s", x)
		}
	}
	if s.Started != nil {
		p.printf("  %s", s.Started.Local().Format("2006-01-02 15:04:05"))
	}
	if s.Stopped {
		p.printf("  (stopped)")
	}
	p.printf("  verdict: %s\n", strings.ToUpper(s.Verdict.Result))
	if s.Verdict.Result == Incomplete {
		p.printf("   did not come to its end: its figures are those of its last sample, its ledger is not known\n")
	}
}

// shown writes the ports of an account.
func (x *Ports) shown() string {
	switch {
	case x == nil:
		return "none"
	case x.TX == "": // of a run that died: its samples do not name a single pair
		return "not known"
	case x.RX == "":
		return x.TX
	}
	return x.TX + " -> " + x.RX
}

func (p *page) accountDifference(d *AccountDifference, several bool) {
	a, b := d.A.shown(), d.B.shown()
	switch {
	case a != b:
		p.printf("\nports  A %s  B %s\n", a, b)
	case several:
		p.printf("\nports  %s\n", a)
	}
	if d.A == nil || d.B == nil {
		p.printf("  only one of the runs has this pair: not compared\n")
		return
	}
	if len(d.Phases) == 0 {
		p.printf("\nno phases\n")
	}
	for _, x := range d.Phases {
		p.phaseDifference(&x)
	}
	if len(d.Ledger) == 0 {
		return
	}
	p.printf("\nledger (frames)\n")
	p.printf("  %15s  %15s  %15s\n", "A", "B", "B - A")
	for _, r := range d.Ledger {
		p.printf("  %15s  %15s  %15s  %s\n", signed(r.A), signed(r.B), plus(float64(r.B-r.A), whole64), strings.TrimSpace(r.What+"  "+r.Where))
	}
}

func (p *page) phaseDifference(x *PhaseDifference) {
	if x.Only != "" {
		p.printf("\n%s: only in %s\n", x.Name, strings.ToUpper(x.Only))
		return
	}
	p.printf("\n%s\n", x.Name)
	for _, t := range []struct {
		what string
		*Texts
	}{{"asked", x.Asked}, {"engine", x.Engine}} {
		if t.Texts != nil {
			p.printf("  %s: A %s, B %s\n", t.what, t.A, t.B)
		}
	}
	if len(x.Figures) == 0 {
		p.printf("  no figure differs\n")
		return
	}
	rows := []string{"figure\tA\tB\tB - A\trelative"}
	var onlyA, onlyB []string
	for _, d := range x.Figures {
		f := figures[slices.IndexFunc(figures, func(f figure) bool { return f.key == d.Figure })]
		switch {
		case d.B == nil:
			onlyA = append(onlyA, f.label)
		case d.A == nil:
			onlyB = append(onlyB, f.label)
		default:
			by := plus(*d.Difference, f.draw)
			if d.Figure == "loss_ratio" { // a difference of percentages is none
				by = strings.Replace(by, "%", "points", 1)
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", f.label, f.draw(*d.A), f.draw(*d.B), by, relative(d.Relative)))
		}
	}
	if len(rows) > 1 {
		p.table(rows...)
	}
	if onlyA != nil {
		p.printf("  only A has: %s\n", strings.Join(onlyA, ", "))
	}
	if onlyB != nil {
		p.printf("  only B has: %s\n", strings.Join(onlyB, ", "))
	}
}

// plus writes a difference with its sign.
func plus(v float64, draw func(float64) string) string {
	switch {
	case v < 0:
		return "-" + draw(-v)
	case v > 0:
		return "+" + draw(v)
	}
	return draw(0)
}

// relative writes a share of A, and a B of more than ten times A as how many times.
func relative(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case *v >= 10:
		return count(uint64(math.Round(1+*v))) + " times"
	}
	return fmt.Sprintf("%+.3g %%", *v*100)
}

// checks draws what was asked of both, side by side.
func (p *page) checks(c *Comparison) {
	p.printf("\nverdict: A %s, B %s\n", strings.ToUpper(c.A.Verdict.Result), strings.ToUpper(c.B.Verdict.Result))
	if len(c.Checks) == 0 {
		return
	}
	rows := []string{"check\tA asked\tseen\tresult\tB asked\tseen\tresult"}
	cells := func(x *scenarios.Check) string {
		if x == nil {
			return "-\t-\t-"
		}
		return fmt.Sprintf("%s\t%s\t%s", x.Asked, x.Seen, x.Result)
	}
	for _, d := range c.Checks {
		rows = append(rows, d.Metric+"\t"+cells(d.A)+"\t"+cells(d.B))
	}
	p.table(rows...)
}
