package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"squall/scenarios"
)

// burstsShown bounds the drop bursts that Text draws of a phase; run.json has
// more.
const burstsShown = 20

// Text draws a result for people.
func Text(w io.Writer, r *scenarios.Result) error {
	p := &page{}
	for _, pair := range r.Pairs {
		p.account(pair)
		p.printf("\n")
	}
	if r.Pairs == nil {
		p.account(r)
	}
	p.capture(r)
	p.conversations(r)
	p.verdict(r)
	_, err := io.WriteString(w, p.String())
	return err
}

// account draws what became of one pair's frames.
func (p *page) account(r *scenarios.Result) {
	p.head(r)
	p.phases(r)
	p.impaired(r)
	if r.RX != "" {
		p.bursts(r)
		p.order(r)
	}
	p.ledger(r)
	p.notes(r)
}

type page struct{ strings.Builder }

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.Builder, format, args...) }

// table aligns rows whose cells are parted by tabs: numbers to the right.
func (p *page) table(rows ...string) {
	t := tabwriter.NewWriter(&p.Builder, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		fmt.Fprintln(t, r+"\t")
	}
	t.Flush()
}

func (p *page) head(r *scenarios.Result) {
	to := r.RX
	if to == "" {
		to = "(no receiver)"
	}
	p.printf("%s  %s -> %s  %s", r.Name, r.TX, to, r.Started.Local().Format("2006-01-02 15:04:05"))
	if len(r.Phases) > 0 {
		p.printf("  engine %s", r.Phases[0].Engine)
	}
	if r.Stopped {
		p.printf("  (stopped)")
	}
	p.printf("\n")
}

func (p *page) phases(r *scenarios.Result) {
	p.printf("\nsent (rates of layer 1; sizes and bytes count the FCS)\n")
	rows := []string{"phase\tasked\tasked pps\tachieved pps\tMbit/s\tseconds\tframes\tsend error p50\tp99\tp99.9\tmax"}
	for _, x := range r.Phases {
		asked, late := "max", "-\t-\t-\t-"
		if x.AskedPPS > 0 {
			asked = decimal(x.AskedPPS)
			late = times(x.SendError.P50, x.SendError.P99, x.SendError.P999, x.SendError.Max)
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%.1f\t%.3f\t%s\t%s", x.Name, x.Asked, asked, decimal(x.AchievedPPS), x.AchievedMbit, x.Seconds, count(x.Sent), late))
	}
	p.table(rows...)
	if r.RX == "" {
		return
	}
	p.printf("\nreceived\n")
	rows = []string{"phase\tframes\tlost\tloss\tduplicated\treordered\tlatency min\tp50\tp99\tp99.9\tmax"}
	for _, x := range r.Phases {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", x.Name, count(x.Received), count(x.Lost), percent(x.LossRatio()),
			count(x.Duplicated), count(x.Reordered), latency(x.Latency)))
	}
	p.table(rows...)
}

// latency draws the cells of a distribution; frames without a send time have
// none.
func latency(l scenarios.Latency) string {
	if l == (scenarios.Latency{}) {
		return "-\t-\t-\t-\t-"
	}
	return times(l.Min, l.P50, l.P99, l.P999, l.Max)
}

func (p *page) bursts(r *scenarios.Result) {
	p.printf("\ndrop bursts (losses less than 100 ms apart)\n")
	rows := []string{"phase\tat\tseconds\tframes lost\tloss periods\tlongest\tfirst sequence number"}
	var more []string
	for _, x := range r.Phases {
		for _, b := range x.Bursts[:min(len(x.Bursts), burstsShown)] {
			rows = append(rows, fmt.Sprintf("%s\t%s\t%.6f\t%s\t%s\t%s\t%d", x.Name, b.At.Local().Format("15:04:05.000000"), b.Seconds, count(b.Frames), count(b.Periods), count(b.Longest), b.First))
		}
		if n := len(x.Bursts); n > burstsShown {
			more = append(more, fmt.Sprintf("  %s: %s in all, the first %s in run.json\n", x.Name, count(x.BurstCount), count(uint64(n))))
		}
	}
	if len(rows) == 1 {
		p.printf("  none\n")
		return
	}
	p.table(rows...)
	p.printf("%s", strings.Join(more, ""))
}

// order draws reordering where there is any.
func (p *page) order(r *scenarios.Result) {
	rows := []string{"phase\tstream\treordered\textent mean\tmax\t3-reordered\tdup-ACK runs >= 3\t>= 10"}
	for _, x := range r.Phases {
		for _, s := range x.Streams {
			m := s.Meter
			if m.Reordered == 0 {
				continue
			}
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%.1f\t%d\t%s\t%s\t%s", x.Name, s.Name, count(m.Reordered),
				m.Reordering.Extent.Mean, m.Reordering.Extent.Max, count(m.DupAcks.NReordered[2]), count(m.DupAcks.AtLeast3), count(m.DupAcks.AtLeast10)))
		}
	}
	if len(rows) > 1 {
		p.printf("\nreordering (RFC 4737)\n")
		p.table(rows...)
	}
}

func (p *page) notes(r *scenarios.Result) {
	if r.RX != "" && r.Ledger.Sent > 0 && r.Ledger.Received == 0 {
		p.printf("\nnothing arrived: is the frames' destination MAC that of the next port on the way (--dst-mac), and is their VLAN known there?\n")
	}
	if r.Foreign > 0 {
		p.printf("\nforeign: %s frames of other squall runs came in\n", count(r.Foreign))
	}
	if len(r.Strays) > 0 {
		p.printf("\nstrays on the receiving port, by EtherType:")
		for _, k := range sortedKeys(r.Strays) {
			p.printf(" %s %s", k, count(r.Strays[k]))
		}
		p.printf("\n")
	}
	for _, x := range r.Phases {
		if x.Slipped > 0 {
			p.printf("\n%s: squall was held up; %s of the schedule were given up\n", x.Name, nanoseconds(x.Slipped))
		}
		if x.Retries > 0 {
			p.printf("\n%s: the port had no room %s times (ENOBUFS); the frames were sent again\n", x.Name, count(x.Retries))
		}
	}
	for _, w := range r.Warnings {
		p.printf("\nwarning: %s\n", w)
	}
}

func (p *page) verdict(r *scenarios.Result) {
	p.printf("\nverdict: %s\n", strings.ToUpper(r.Verdict.Result))
	for _, reason := range r.Verdict.Reasons {
		if !slices.ContainsFunc(r.Verdict.Checks, func(c scenarios.Check) bool { return strings.HasPrefix(reason, c.Metric+": ") }) {
			p.printf("  %s\n", reason)
		}
	}
	for _, c := range r.Verdict.Checks {
		p.printf("  %-4s  %s %s, seen %s\n", c.Result, c.Metric, c.Asked, c.Seen)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
