package probe

import (
	"cmp"
	"math"
	"slices"
)

// Moves picks the changes worth showing: counters that moved, levels that
// differ, and all that carry a note.
func Moves(changes []Change) []Change {
	var out []Change
	for _, c := range changes {
		if c.Note != "" || c.Numbers().Moved != 0 {
			out = append(out, c)
		}
	}
	return out
}

// Relative is how far the counter moved, as a part of what it stood at before:
// 0.5 for one that went from 100 to 150 or a level from 100 to 50, +Inf for one
// that moved for the first time.
func (c Change) Relative() float64 {
	n := c.Numbers()
	if n.Moved == 0 {
		return 0
	}
	return math.Abs(n.Moved / n.Before)
}

// Rank sorts changes in place, the largest relative one first, and among equals
// the one that moved farther. What has no number (new, gone) comes last.
func Rank(changes []Change) {
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(b.Relative(), a.Relative()),
			cmp.Compare(math.Abs(b.Numbers().Moved), math.Abs(a.Numbers().Moved)),
			cmp.Compare(a.Where, b.Where), cmp.Compare(a.Name, b.Name))
	})
}
