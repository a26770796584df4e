package probe

// Note says why a Change is not a plain difference.
type Note string

// The notes. An empty one stands for a plain difference.
const (
	Wrapped Note = "wrapped" // the counter passed its width once; Moved is right
	Reset   Note = "reset"   // it began again from 0; Moved is what came since, at least
	Fell    Note = "fell"    // it fell too little for either: a level, it seems; Moved is 0, not known
	New     Note = "new"     // only in the later reading; Moved is 0, not known
	Gone    Note = "gone"    // only in the earlier reading; Moved is 0, not known
)

// Change is what became of one counter between two readings.
type Change struct {
	Where, Name   string
	Before, After uint64
	Moved         uint64 // events counted in between; 0 for a level
	Level         bool
	Note          Note

	// Float has the three numbers where one of them is none of uint64, and is nil
	// otherwise. Before, After and Moved are then the nearest that are.
	Float *Numbers
	// Of is the counter's whole, see [Counter.Of], and Share its part of the
	// whole's movement in percent, 0 where the whole did not move.
	Of    string
	Share float64
}

// Numbers are a change's numbers in floating point.
type Numbers struct{ Before, After, Moved float64 }

// Numbers returns the change's numbers, fractions and signs included. For a
// level Moved is After minus Before.
func (c Change) Numbers() Numbers {
	n := Numbers{float64(c.Before), float64(c.After), float64(c.Moved)}
	if c.Float != nil {
		n = *c.Float
	}
	if c.Level && c.Note == "" {
		n.Moved = n.After - n.Before
	}
	return n
}

type key struct{ where, name string }

// Delta compares two readings, counter by counter in the order of the later
// one, those that have gone last. A 32-bit counter must be read at least once
// in 2^31 events; a [Poller] does that and adds up.
func Delta(before, after Reading) []Change {
	old := make(map[key]Counter, len(before.Counters))
	for _, c := range before.Counters {
		old[key{c.Where, c.Name}] = c
	}
	changes := make([]Change, 0, len(after.Counters))
	for _, c := range after.Counters {
		k := key{c.Where, c.Name}
		ch := Change{Where: c.Where, Name: c.Name, After: c.Value, Level: c.Level, Note: New, Of: c.Of}
		if c.Float != 0 {
			ch.Float = &Numbers{After: c.Float}
		}
		if b, ok := old[k]; ok {
			delete(old, k)
			ch = compare(b, c)
		}
		changes = append(changes, ch)
	}
	for _, c := range before.Counters {
		if _, left := old[key{c.Where, c.Name}]; left {
			ch := Change{Where: c.Where, Name: c.Name, Before: c.Value, Level: c.Level, Note: Gone, Of: c.Of}
			if c.Float != 0 {
				ch.Float = &Numbers{Before: c.Float}
			}
			changes = append(changes, ch)
		}
	}
	share(changes)
	return changes
}

// compare tells what became of one counter.
func compare(b, a Counter) Change {
	ch := Change{Where: a.Where, Name: a.Name, Before: b.Value, After: a.Value, Level: a.Level || b.Level, Of: a.Of}
	float := b.Float != 0 || a.Float != 0
	switch {
	case ch.Level:
		if float {
			ch.Float = &Numbers{Before: b.Number(), After: a.Number()}
		}
	case float:
		n := Numbers{Before: b.Number(), After: a.Number()}
		n.Moved, ch.Note = movedFloat(n.Before, n.After)
		ch.Moved, ch.Float = whole(n.Moved), &n
	default:
		ch.Moved, ch.Note = moved(b.Value, a.Value, a.Bits)
	}
	return ch
}

// moved is the way from before to after for a counter of that many bits. A
// counter that stands lower than before has wrapped if it then came less than
// half its range, and was reset otherwise: a driver reloaded, a link made
// anew. Drivers show 32-bit hardware registers in 64 bits (ethtool -S), and a
// text says nothing of widths, so where the width is not known the smaller one
// that held before is tried.
//
// Where the width is not known, neither is whether it is a counter: what fell
// by less than half was hardly reset in between.
func moved(before, after uint64, bits uint8) (uint64, Note) {
	if after >= before {
		return after - before, ""
	}
	if bits == 32 || bits == 0 && before < 1<<32 {
		if way := uint64(uint32(after) - uint32(before)); way < 1<<31 {
			return way, Wrapped
		}
	} else if way := after - before; way < 1<<63 {
		return way, Wrapped
	}
	if bits == 0 && after > before/2 {
		return 0, Fell
	}
	return after, Reset
}

// movedFloat is moved for counters with fractions, which do not wrap.
func movedFloat(before, after float64) (float64, Note) {
	switch {
	case after >= before:
		return after - before, ""
	case after > before/2 || after < 0:
		return 0, Fell
	}
	return after, Reset
}

// share fills in the shares of the counters that are parts of a whole.
func share(changes []Change) {
	var sums map[key]float64
	for _, c := range changes {
		if c.Of != "" {
			if sums == nil {
				sums = map[key]float64{}
			}
			sums[key{c.Where, c.Of}] += c.Numbers().Moved
		}
	}
	for i, c := range changes {
		if sum := sums[key{c.Where, c.Of}]; c.Of != "" && sum > 0 {
			changes[i].Share = 100 * c.Numbers().Moved / sum
		}
	}
}
