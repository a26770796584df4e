package report

import (
	"strings"

	"squall/scenarios"
)

// capture draws what became of the records of a replay's captures.
func (p *page) capture(r *scenarios.Result) {
	c := r.Capture
	if c == nil {
		return
	}
	p.printf("\ncapture  %s\n", strings.Join(c.Files, ", "))
	p.printf("  %15s  records\n", count(c.Records))
	for _, x := range c.LeftOut {
		p.printf("  %15s  left out: %s\n", "- "+count(x.Records), x.Reason)
	}
	for _, x := range c.Changed {
		p.printf("  %15s  changed: %s\n", count(x.Records), x.Reason)
	}
	p.printf("  %15s  frames in the plan, %s bytes without FCS", count(c.Frames), count(c.Bytes))
	if c.Passes > 1 {
		p.printf(", of %s passes that differ", count(c.Passes))
	}
	if c.Spooled {
		p.printf(", in a file (--preload-limit)")
	}
	p.printf("\n")
	for _, x := range c.Rewritten {
		p.printf("  %15s  rewritten: %s\n", count(x.Records), x.Reason)
	}
}
