package probe

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// history keeps the readings of one probe: the values as they were read, a row
// a reading, and apart from them where a counter wrapped or began again. So rows
// can be thinned out and every counter still adds up over what was between.
//
//	         rows (at)      0 s   1 s   2 s   3 s
//	columns  rx_packets    4294967290  2    9    9      jumps: at 1 s, wrapped, 2^32
//	         carrier         1     1     0    1
//
// It is not safe for concurrent use.
type history struct {
	keep    int // rows at most
	columns []column
	index   map[key]int
	rows    []row
}

type column struct {
	where, name, of string
	bits            uint8
	level           bool
	float           bool // cells are math.Float64bits
	last            Counter
	jumps           []jump
}

// jump is what a counter did beyond its plain difference, between the row
// before at and that at it: add is missing from the difference.
type jump struct {
	at    int64
	note  Note
	add   uint64  // modulo 2^64
	float float64 // of a float column
}

type row struct {
	at      int64
	edge    int64    // the time of the edge it belongs to; 0: none
	cells   []uint64 // by column; columns found later are not in it
	missing map[int]bool
}

// maxColumns bounds the counters of one probe.
const maxColumns = 20_000

// add takes a reading in. One that is not newer than the last is passed over.
func (h *history) add(r Reading, edge int64) error {
	if n := len(h.rows); n > 0 && r.At <= h.rows[n-1].at {
		if edge != 0 {
			h.rows[n-1].edge = edge
		}
		return nil
	}
	if h.index == nil {
		h.index = map[key]int{}
	}
	w := row{at: r.At, edge: edge, cells: make([]uint64, len(h.columns), max(len(h.columns), len(r.Counters)))}
	seen := make([]bool, len(h.columns))
	left := 0
	for _, c := range r.Counters {
		k := key{c.Where, c.Name}
		i, ok := h.index[k]
		if !ok {
			if len(h.columns) == maxColumns {
				left++
				continue
			}
			i = len(h.columns)
			h.index[k] = i
			h.columns = append(h.columns, column{where: c.Where, name: c.Name, last: c})
			w.cells, seen = append(w.cells, 0), append(seen, false)
		}
		col := &h.columns[i]
		if c.Float != 0 && !col.float {
			h.widen(i, w.cells)
		}
		col.take(c, r.At)
		seen[i] = true
		if col.float {
			w.cells[i] = math.Float64bits(c.Number())
		} else {
			w.cells[i] = c.Value
		}
	}
	for i, ok := range seen {
		if !ok {
			if w.missing == nil {
				w.missing = map[int]bool{}
			}
			w.missing[i] = true
		}
	}
	h.rows = append(h.rows, w)
	if len(h.rows) > h.keep {
		h.thin()
	}
	if left > 0 {
		return fmt.Errorf("%d counters left out: more than %d names", left, maxColumns)
	}
	return nil
}

// take compares a counter with its last value.
func (c *column) take(now Counter, at int64) {
	ch := compare(c.last, now)
	c.of, c.bits, c.level, c.last = now.Of, now.Bits, c.level || now.Level, now
	if ch.Note == "" {
		return
	}
	j := jump{at: at, note: ch.Note, add: ch.Moved - (ch.After - ch.Before)}
	if ch.Float != nil {
		j.float = ch.Float.Moved - (ch.Float.After - ch.Float.Before)
	} else {
		j.float = float64(ch.Moved) - (float64(ch.After) - float64(ch.Before))
	}
	c.jumps = append(c.jumps, j)
}

// widen makes a column one of floating point.
func (h *history) widen(i int, cells []uint64) {
	h.columns[i].float = true
	for _, r := range append(h.rows, row{cells: cells}) {
		if i < len(r.cells) {
			r.cells[i] = math.Float64bits(float64(r.cells[i]))
		}
	}
}

// thin takes every second row out of the older half, so that a history grows
// coarser with age and never ends. Edges stay, unless the half is full of them.
func (h *history) thin() {
	half := len(h.rows) / 2
	kept := h.rows[:0:0]
	edges := 0
	for _, r := range h.rows[:half] {
		if r.edge != 0 {
			edges++
		}
	}
	spare := edges > half/4
	for i, r := range h.rows[:half] {
		if i%2 == 0 || r.edge != 0 && !spare {
			kept = append(kept, r)
		}
	}
	kept = append(kept, h.rows[half:]...)
	h.rows = kept
	for i := range h.columns {
		h.columns[i].jumps = h.settle(h.columns[i].jumps)
	}
}

// settle moves jumps to the rows that are left, and makes one of those that came
// to stand at the same.
func (h *history) settle(jumps []jump) []jump {
	out := jumps[:0]
	for _, j := range jumps {
		if j.at <= h.rows[0].at {
			continue // before all that can be asked for
		}
		j.at = h.rows[sort.Search(len(h.rows), func(i int) bool { return h.rows[i].at >= j.at })].at
		if n := len(out); n > 0 && out[n-1].at == j.at {
			out[n-1].note, out[n-1].add, out[n-1].float = j.note, out[n-1].add+j.add, out[n-1].float+j.float
			continue
		}
		out = append(out, j)
	}
	return out
}

// nearest is the row that belongs to the edge t, or else the one whose time is
// nearest to t; -1 where there is none.
func (h *history) nearest(t int64) int {
	if i := slices.IndexFunc(h.rows, func(r row) bool { return r.edge != 0 && r.edge == t }); i >= 0 {
		return i
	}
	i, found := slices.BinarySearchFunc(h.rows, t, func(r row, t int64) int {
		switch {
		case r.at < t:
			return -1
		case r.at > t:
			return 1
		}
		return 0
	})
	if found || i == 0 {
		return min(i, len(h.rows)-1)
	}
	if i == len(h.rows) || t-h.rows[i-1].at <= h.rows[i].at-t {
		return i - 1
	}
	return i
}

func (r row) has(i int) bool { return i < len(r.cells) && !r.missing[i] }

// change is what became of a column between two rows; false where it is in
// neither.
func (h *history) change(i int, from, to row) (Change, bool) {
	c := &h.columns[i]
	ch := Change{Where: c.where, Name: c.name, Level: c.level, Of: c.of}
	b, a := from.has(i), to.has(i)
	switch {
	case !b && !a:
		return Change{}, false
	case !b:
		ch.Note = New
	case !a:
		ch.Note = Gone
	}
	var n Numbers
	if b {
		ch.Before, n.Before = c.cell(from.cells[i])
	}
	if a {
		ch.After, n.After = c.cell(to.cells[i])
	}
	if a && b && !c.level {
		ch.Moved, n.Moved = ch.After-ch.Before, n.After-n.Before
		for _, j := range c.between(from.at, to.at) {
			ch.Moved += j.add
			n.Moved += j.float
			ch.Note = j.note
		}
	}
	if c.float {
		ch.Moved = whole(n.Moved)
		if float64(ch.Before) != n.Before || float64(ch.After) != n.After || float64(ch.Moved) != n.Moved {
			ch.Float = &n
		}
	}
	return ch, true
}

func (c *column) cell(v uint64) (uint64, float64) {
	if c.float {
		f := math.Float64frombits(v)
		return whole(f), f
	}
	return v, float64(v)
}

// between are the jumps after one row up to another.
func (c *column) between(from, to int64) []jump {
	after := func(t int64) int { return sort.Search(len(c.jumps), func(i int) bool { return c.jumps[i].at > t }) }
	return c.jumps[after(from):after(to)]
}

// changes are those of all columns between two rows.
func (h *history) changes(from, to row) []Change {
	out := make([]Change, 0, len(h.columns))
	for i := range h.columns {
		if ch, ok := h.change(i, from, to); ok {
			out = append(out, ch)
		}
	}
	share(out)
	return out
}
