package report

import (
	"slices"
	"time"

	"squall/internal/ledger"
	"squall/scenarios"
)

// ComparisonSchema names the form of a Comparison as JSON. Fields may be added under
// one name; none is renamed or changes its meaning.
const ComparisonSchema = "squall.comparison/1"

// Comparison is where two runs differ. Each is one run: a difference may be chance.
type Comparison struct {
	Schema string `json:"schema"`
	A      Side   `json:"a"`
	B      Side   `json:"b"`
	// Accounts are that of all pairs together and then, where there are several, of
	// each pair; of both runs in turn, the first with the first.
	Accounts []AccountDifference `json:"accounts"`
	Checks   []CheckDifference   `json:"checks"`
}

// Side is one of the two runs.
type Side struct {
	Path    string            `json:"path"`
	Name    string            `json:"name,omitempty"`
	Version string            `json:"version,omitempty"`
	Host    string            `json:"host,omitempty"`
	Started *time.Time        `json:"started,omitempty"`
	Stopped bool              `json:"stopped"`
	Verdict scenarios.Verdict `json:"verdict"`

	accounts []account
}

// account is what is compared of one pair of ports.
type account struct {
	tx, rx string
	phases []measured
	ledger *ledger.Ledger // nil: not known
}

// measured is one phase.
type measured struct {
	name, asked, engine string
	values              map[string]float64 // of figures; what is not known is not there
}

// AccountDifference compares two accounts. One that only one run has is told, and
// nothing else of it.
type AccountDifference struct {
	A      *Ports            `json:"a,omitempty"`
	B      *Ports            `json:"b,omitempty"`
	Phases []PhaseDifference `json:"phases"`
	Ledger []LedgerRow       `json:"ledger"` // empty where a run's is not known
}

// Ports are those of an account.
type Ports struct {
	TX string `json:"tx"`
	RX string `json:"rx,omitempty"`
}

// PhaseDifference compares two phases of one name.
type PhaseDifference struct {
	Name string `json:"name"`
	// Only is "a" or "b" where the other run has none of that name; there are no figures
	// then.
	Only string `json:"only,omitempty"`
	// Asked and Engine are left out where the runs agree.
	Asked   *Texts       `json:"asked,omitempty"`
	Engine  *Texts       `json:"engine,omitempty"`
	Figures []Difference `json:"figures"` // those that differ
}

// Texts are two that differ.
type Texts struct {
	A string `json:"a"`
	B string `json:"b"`
}

// Difference is a figure that differs.
type Difference struct {
	// Figure is its key in run.json, as achieved_pps or latency_ns.p99; loss_ratio and
	// largest_burst, the most frames lost in one drop burst, are worked out.
	Figure string   `json:"figure"`
	A      *float64 `json:"a"` // null: that run does not have it
	B      *float64 `json:"b"`
	// Difference is B - A, Relative the same over A; null where they are not defined.
	Difference *float64 `json:"difference"`
	Relative   *float64 `json:"relative"`
}

// LedgerRow is a line of both ledgers.
type LedgerRow struct {
	// What is sent, received, unexplained, or the counter that saw a loss. Where is a
	// port or namespace; "tx" and "rx" are the ports of the account, whatever their names.
	What  string `json:"what"`
	Where string `json:"where,omitempty"`
	A     int64  `json:"a"` // frames; 0 where a ledger has no such line
	B     int64  `json:"b"`
}

// CheckDifference is a check of either run.
type CheckDifference struct {
	Metric string           `json:"metric"`
	A      *scenarios.Check `json:"a"` // null: that run has none of it
	B      *scenarios.Check `json:"b"`
}

// SideOf is a finished run, for Compare.
func SideOf(path string, r *scenarios.Result) Side {
	s := Side{Path: path, Name: r.Name, Version: r.Version, Host: r.Host, Started: &r.Started, Stopped: r.Stopped, Verdict: r.Verdict}
	for _, x := range append([]*scenarios.Result{r}, r.Pairs...) {
		a := account{tx: x.TX, rx: x.RX, ledger: &x.Ledger}
		for i := range x.Phases {
			a.phases = append(a.phases, measure(&x.Phases[i], x.RX != "", x.Pairs))
		}
		s.accounts = append(s.accounts, a)
	}
	return s
}

// SideOfPartial is a run that did not come to its end, for Compare: its ledger is not
// known, of its phases what was sampled.
func SideOfPartial(path string, r *Partial) Side {
	s := Side{Path: path, Started: r.Began, Verdict: r.Verdict}
	all := account{}
	for _, u := range r.UnderWay {
		a := account{tx: u.Pair}
		for i := range r.Phases {
			if x := &r.Phases[i]; x.Pair == u.Pair {
				a.phases = append(a.phases, measurePartial(x))
			}
		}
		s.accounts = append(s.accounts, a)
		all.add(&a)
	}
	if len(s.accounts) > 1 {
		s.accounts = append([]account{all}, s.accounts...)
	}
	return s
}

// add sums the phases of another pair.
func (a *account) add(x *account) {
	for i, p := range x.phases {
		if i == len(a.phases) {
			a.phases = append(a.phases, measured{name: p.name, asked: p.asked, values: map[string]float64{}})
		}
		for k, v := range p.values {
			if k == "seconds" {
				a.phases[i].values[k] = max(a.phases[i].values[k], v)
				continue
			}
			a.phases[i].values[k] += v
		}
		sent, lost := a.phases[i].values["sent"], a.phases[i].values["lost"]
		if sent > 0 {
			a.phases[i].values["loss_ratio"] = lost / sent
		}
	}
}

// measure takes the figures of a phase. What a run without receiver, a frame without
// send time or a schedule without due times cannot tell is left out.
func measure(x *scenarios.PhaseResult, received bool, pairs []*scenarios.Result) measured {
	v := map[string]float64{
		"achieved_pps": x.AchievedPPS, "achieved_mbit": x.AchievedMbit, "seconds": x.Seconds,
		"sent": float64(x.Sent), "retries": float64(x.Retries), "failed": float64(x.Failed), "slipped_ns": float64(x.Slipped),
	}
	if x.AskedPPS > 0 {
		v["asked_pps"] = x.AskedPPS
		v["send_error_ns.p50"], v["send_error_ns.p99"] = float64(x.SendError.P50), float64(x.SendError.P99)
		v["send_error_ns.p999"], v["send_error_ns.max"] = float64(x.SendError.P999), float64(x.SendError.Max)
	}
	if !received {
		return measured{x.Name, x.Asked, x.Engine, v}
	}
	v["received"], v["lost"], v["loss_ratio"] = float64(x.Received), float64(x.Lost), x.LossRatio()
	v["duplicated"], v["reordered"], v["late"], v["foreign"] = float64(x.Duplicated), float64(x.Reordered), float64(x.Late), float64(x.Foreign)
	v["loss_period_count"], v["burst_count"] = float64(x.LossPeriodCount), float64(x.BurstCount)
	v["largest_burst"] = largest(x)
	for _, r := range pairs { // of several pairs the bursts stand with each
		for i := range r.Phases {
			if r.Phases[i].Name == x.Name {
				v["largest_burst"] = max(v["largest_burst"], largest(&r.Phases[i]))
			}
		}
	}
	if l := x.Latency; l != (scenarios.Latency{}) {
		v["latency_ns.min"], v["latency_ns.p50"], v["latency_ns.p99"] = float64(l.Min), float64(l.P50), float64(l.P99)
		v["latency_ns.p999"], v["latency_ns.max"] = float64(l.P999), float64(l.Max)
	}
	return measured{x.Name, x.Asked, x.Engine, v}
}

func largest(x *scenarios.PhaseResult) (most float64) {
	for _, b := range x.Bursts {
		most = max(most, float64(b.Frames))
	}
	return most
}

func measurePartial(x *PartialPhase) measured {
	m := measured{name: x.Name, asked: x.Asked, values: map[string]float64{}}
	if x.Sampled == nil {
		return m
	}
	v := m.values
	v["achieved_pps"], v["achieved_mbit"], v["seconds"] = x.AchievedPPS, x.AchievedMbit, x.Seconds
	v["sent"], v["retries"] = float64(x.Sent), float64(x.Retries)
	// Samples do not tell whether there was a receiving port.
	if x.Received+x.Lost+x.Duplicated > 0 {
		v["received"], v["lost"] = float64(x.Received), float64(x.Lost)
		v["duplicated"], v["reordered"] = float64(x.Duplicated), float64(x.Reordered)
		if x.Sent > 0 {
			v["loss_ratio"] = float64(x.Lost) / float64(x.Sent)
		}
	}
	return m
}

// Compare says where B differs from A.
func Compare(a, b Side) *Comparison {
	c := &Comparison{Schema: ComparisonSchema, A: a, B: b, Accounts: []AccountDifference{}, Checks: []CheckDifference{}}
	for i := range max(len(a.accounts), len(b.accounts)) {
		d := AccountDifference{Phases: []PhaseDifference{}, Ledger: []LedgerRow{}}
		var x, y *account
		if i < len(a.accounts) {
			x = &a.accounts[i]
			d.A = &Ports{x.tx, x.rx}
		}
		if i < len(b.accounts) {
			y = &b.accounts[i]
			d.B = &Ports{y.tx, y.rx}
		}
		if x != nil && y != nil {
			d.Phases, d.Ledger = comparePhases(x.phases, y.phases), compareLedgers(x, y)
		}
		c.Accounts = append(c.Accounts, d)
	}
	for i := range a.Verdict.Checks {
		x := &a.Verdict.Checks[i]
		c.Checks = append(c.Checks, CheckDifference{Metric: x.Metric, A: x})
	}
	for i := range b.Verdict.Checks {
		y := &b.Verdict.Checks[i]
		k := slices.IndexFunc(c.Checks, func(d CheckDifference) bool { return d.Metric == y.Metric && d.B == nil })
		if k < 0 {
			c.Checks = append(c.Checks, CheckDifference{Metric: y.Metric, B: y})
			continue
		}
		c.Checks[k].B = y
	}
	return c
}

// comparePhases compares the first phase of a name with the first of it in the other
// run, the second with the second.
func comparePhases(a, b []measured) []PhaseDifference {
	all := []PhaseDifference{}
	used := make([]bool, len(b))
	for i := range a {
		k := slices.IndexFunc(b, func(m measured) bool { return m.name == a[i].name })
		for k >= 0 && k < len(b) && (used[k] || b[k].name != a[i].name) {
			k++
		}
		if k < 0 || k == len(b) {
			all = append(all, PhaseDifference{Name: a[i].name, Only: "a", Figures: []Difference{}})
			continue
		}
		used[k] = true
		d := PhaseDifference{Name: a[i].name, Figures: []Difference{}}
		d.Asked, d.Engine = differ(a[i].asked, b[k].asked), differ(a[i].engine, b[k].engine)
		for _, f := range figures {
			x, inA := a[i].values[f.key]
			y, inB := b[k].values[f.key]
			if diff := difference(f.key, x, inA, y, inB); diff != nil {
				d.Figures = append(d.Figures, *diff)
			}
		}
		all = append(all, d)
	}
	for k := range b {
		if !used[k] {
			all = append(all, PhaseDifference{Name: b[k].name, Only: "b", Figures: []Difference{}})
		}
	}
	return all
}

// differ returns two texts unless they are the same or one is not known.
func differ(a, b string) *Texts {
	if a == b || a == "" || b == "" {
		return nil
	}
	return &Texts{a, b}
}

// difference returns nil where there is none.
func difference(figure string, a float64, inA bool, b float64, inB bool) *Difference {
	if inA == inB && a == b {
		return nil
	}
	d := &Difference{Figure: figure}
	if inA {
		d.A = &a
	}
	if inB {
		d.B = &b
	}
	if inA && inB {
		by := b - a
		d.Difference = &by
		if a != 0 {
			share := by / a
			d.Relative = &share
		}
	}
	return d
}

// compareLedgers puts the terms of both side by side.
func compareLedgers(a, b *account) []LedgerRow {
	rows := []LedgerRow{}
	if a.ledger == nil || b.ledger == nil {
		return rows
	}
	rows = append(rows,
		LedgerRow{What: "sent", A: int64(a.ledger.Sent), B: int64(b.ledger.Sent)},
		LedgerRow{What: "received", A: int64(a.ledger.Received), B: int64(b.ledger.Received)})
	row := func(of *account, t ledger.Term) *LedgerRow {
		where := t.Where
		switch where {
		case of.tx:
			where = "tx"
		case of.rx:
			where = "rx"
		}
		for i := range rows {
			if rows[i].What == t.Counter && rows[i].Where == where {
				return &rows[i]
			}
		}
		rows = append(rows, LedgerRow{What: t.Counter, Where: where})
		return &rows[len(rows)-1]
	}
	for _, t := range a.ledger.Named {
		row(a, t).A += int64(t.Frames)
	}
	for _, t := range b.ledger.Named {
		row(b, t).B += int64(t.Frames)
	}
	return append(rows, LedgerRow{What: "unexplained", A: a.ledger.Unexplained, B: b.ledger.Unexplained})
}
