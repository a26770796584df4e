package report

import (
	"fmt"

	"squall/scenarios"
)

// impaired draws what was done to frames on purpose, and what the receiver was to
// find of it.
func (p *page) impaired(r *scenarios.Result) {
	made := []string{"phase\tdropped\tcopies\tpairs swapped\theld back\tin reordered bursts\tcorrupted"}
	found := []string{"phase\treceiver\tlost\tduplicated\treordered\textent mean\tmax"}
	row := func(phase, which string, a *scenarios.Arrivals) {
		found = append(found, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%.2f\t%d", phase, which, count(a.Lost), count(a.Duplicated), count(a.Reordered), a.ExtentMean, a.ExtentMax))
	}
	for _, x := range r.Phases {
		i := x.Impaired
		if i == nil {
			continue
		}
		m := i.Made
		made = append(made, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", x.Name, count(m.Dropped), count(m.Duplicated), count(m.Swapped), count(m.Held), count(m.Reordered), count(m.Corrupted)))
		if i.Expected != nil && i.Seen != nil {
			row(x.Name, "expected", i.Expected)
			row(x.Name, "seen", i.Seen)
		}
	}
	if len(made) == 1 {
		return
	}
	p.printf("\nimpaired on purpose (lost, duplicated and reordered above are beyond it)\n")
	p.table(made...)
	if len(found) > 1 {
		p.table(found...)
	}
}
