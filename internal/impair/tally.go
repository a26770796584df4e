package impair

import (
	"slices"
	"sort"
)

// Figures are what a receiver must count of frames with sequence numbers where
// nothing else happens to them on the way.
type Figures struct {
	Lost       uint64 // numbers that never leave
	Duplicated uint64 // further arrivals of a number
	Reordered  uint64 // Type-P-Reordered (RFC 4737 section 3.3): first arrivals behind a greater number
	// Extents are the reordering extents (section 4.2) of these: how many first
	// arrivals ago the earliest one with a greater number was; their sum and the
	// greatest.
	Extents, Extent uint64
}

// Add adds the figures of what comes later and has none of these numbers.
func (f *Figures) Add(g Figures) { f.AddTimes(g, 1) }

// AddTimes is Add, so many times.
func (f *Figures) AddTimes(g Figures, times uint64) {
	f.Lost += times * g.Lost
	f.Duplicated += times * g.Duplicated
	f.Reordered += times * g.Reordered
	f.Extents += times * g.Extents
	if times > 0 {
		f.Extent = max(f.Extent, g.Extent)
	}
}

// Tally works the figures out, number by number. The zero value is ready.
type Tally struct {
	seen  []uint64 // bit n%64 of word n/64
	first uint64   // arrivals
	peaks []peak   // arrivals above all before, rising
	fig   Figures
}

type peak struct{ number, at uint64 }

// Add counts the next number.
func (t *Tally) Add(n uint64) {
	if w := int(n / 64); w >= len(t.seen) {
		t.seen = slices.Grow(t.seen, w+1-len(t.seen))[:w+1]
	}
	if t.seen[n/64]&(1<<(n%64)) != 0 {
		t.fig.Duplicated++
		return
	}
	t.seen[n/64] |= 1 << (n % 64)
	if k := len(t.peaks); k == 0 || n > t.peaks[k-1].number {
		t.peaks = append(t.peaks, peak{n, t.first})
	} else {
		j := sort.Search(k, func(i int) bool { return t.peaks[i].number > n })
		extent := t.first - t.peaks[j].at
		t.fig.Reordered++
		t.fig.Extents += extent
		t.fig.Extent = max(t.fig.Extent, extent)
	}
	t.first++
}

// Figures returns the figures so far, where the numbers below numbers were to come.
func (t *Tally) Figures(numbers uint64) Figures {
	f := t.fig
	f.Lost = numbers - min(t.first, numbers)
	return f
}
