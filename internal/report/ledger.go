package report

import (
	"fmt"

	"squall/internal/ledger"
	"squall/scenarios"
)

// ledger draws the balance: what was sent, where each frame went, and what is
// left, which is printed when it is 0 too.
func (p *page) ledger(r *scenarios.Result) {
	l := r.Ledger
	p.printf("\nledger (frames)\n")
	p.entry(count(l.Sent), "sent", r.TX)
	if r.RX != "" {
		p.entry("- "+count(l.Received), "received", r.RX)
	}
	for _, t := range l.Named {
		p.entry("- "+count(t.Frames), t.Counter, t.Where)
		for _, s := range t.Also {
			p.printf("  %15s      also seen by %s of %s: %s\n", "", s.Counter, s.Where, count(s.Moved))
		}
	}
	p.entry("= "+signed(l.Unexplained), "unexplained", "")
	for _, g := range l.Gaps {
		p.printf("  %s missing between %s (%s) and %s (%s)\n", signed(g.Missing()), g.From, count(g.Before), g.To, count(g.After))
	}
	p.moved(l)
}

func (p *page) entry(frames, what, where string) {
	if where != "" {
		where = "  " + where
	}
	p.printf("  %15s  %s%s\n", frames, what, where)
}

// moved lists counters that moved and are no loss.
func (p *page) moved(l ledger.Ledger) {
	if len(l.Moved) == 0 {
		return
	}
	p.printf("\nother counters that moved (not summed)\n")
	for _, s := range l.Moved {
		note := ""
		if s.Note != "" {
			note = fmt.Sprintf("  (%s)", s.Note)
		}
		p.printf("  %15s  %s  %s%s\n", count(s.Moved), s.Counter, s.Where, note)
	}
}
