package probe

// Note says why a Change is not a plain difference.
type Note string

// The notes. An empty one stands for a plain difference.
const (
	Wrapped Note = "wrapped" // the counter passed its width once; Moved is right
	Reset   Note = "reset"   // it began again from 0; Moved is what came since, at least
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
}

// Delta compares two readings, counter by counter in the order of the later
// one, those that have gone last. A 32-bit counter must be read at least once
// in 2^31 events.
func Delta(before, after Reading) []Change {
	type key struct{ where, name string }
	old := make(map[key]Counter, len(before.Counters))
	for _, c := range before.Counters {
		old[key{c.Where, c.Name}] = c
	}
	changes := make([]Change, 0, len(after.Counters))
	for _, c := range after.Counters {
		k := key{c.Where, c.Name}
		ch := Change{Where: c.Where, Name: c.Name, After: c.Value, Level: c.Level, Note: New}
		if b, ok := old[k]; ok {
			delete(old, k)
			ch.Before, ch.Note = b.Value, ""
			if !c.Level {
				ch.Moved, ch.Note = moved(b.Value, c.Value, c.Bits)
			}
		}
		changes = append(changes, ch)
	}
	for _, c := range before.Counters {
		if _, left := old[key{c.Where, c.Name}]; left {
			changes = append(changes, Change{Where: c.Where, Name: c.Name, Before: c.Value, Level: c.Level, Note: Gone})
		}
	}
	return changes
}

// moved is the way from before to after for a counter of that many bits. A
// counter that stands lower than before has wrapped if it then came less than
// half its range, and was reset otherwise: a driver reloaded, a link made
// anew. Drivers show 32-bit hardware registers in 64 bits (ethtool -S), so
// where the width is not known the smaller one that held before is tried.
func moved(before, after uint64, bits uint8) (uint64, Note) {
	if after >= before {
		return after - before, ""
	}
	if bits == 32 || bits == 0 && before < 1<<32 {
		if way := uint64(uint32(after) - uint32(before)); way < 1<<31 {
			return way, Wrapped
		}
		return after, Reset
	}
	if way := after - before; way < 1<<63 {
		return way, Wrapped
	}
	return after, Reset
}

// Moves picks the changes worth showing: counters that moved, levels that
// differ, and all that carry a note.
func Moves(changes []Change) []Change {
	var out []Change
	for _, c := range changes {
		if c.Moved != 0 || c.Note != "" || c.Level && c.Before != c.After {
			out = append(out, c)
		}
	}
	return out
}
