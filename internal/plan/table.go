package plan

import "slices"

// Table is a table of prebuilt byte strings in one piece of memory: all of one
// length (the heads of a generated stream) or each of its own (captured
// frames).
type Table struct {
	data   []byte
	stride int
	ends   []uint64 // nil where all have the length stride
	n      int
	max    int
	mapped *mapping // nil: its own memory
}

// NewTable returns a table whose entries are stride bytes each. It keeps data.
func NewTable(data []byte, stride int) Table {
	return Table{data: data, stride: stride, n: len(data) / stride, max: stride}
}

// Grow makes room for so many more bytes at once.
func (t *Table) Grow(bytes int) { t.data = slices.Grow(t.data, bytes) }

// Append adds an entry with its own length to a table that began empty.
func (t *Table) Append(b []byte) {
	t.data = append(t.data, b...)
	t.ends = append(t.ends, uint64(len(t.data)))
	t.n++
	t.max = max(t.max, len(b))
}

// Len returns the number of entries.
func (t *Table) Len() int { return t.n }

// Max returns the length of the longest entry.
func (t *Table) Max() int { return t.max }

// Bytes returns the memory that the entries take.
func (t *Table) Bytes() int { return len(t.data) }

// At returns entry k: a view, not to be changed.
func (t *Table) At(k uint64) []byte {
	if t.stride > 0 {
		off := k * uint64(t.stride)
		return t.data[off : off+uint64(t.stride) : off+uint64(t.stride)]
	}
	var from uint64
	if k > 0 {
		from = t.ends[k-1]
	}
	return t.data[from:t.ends[k]:t.ends[k]]
}
