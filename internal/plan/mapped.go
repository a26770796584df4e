package plan

import (
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
)

// MappedTable returns a table over data, in which entry k ends at ends[k]. It keeps
// both; release is called when nothing can reach the table any more.
func MappedTable(data []byte, ends []uint64, release func()) Table {
	t := Table{data: data, ends: ends, n: len(ends), mapped: new(mapping)}
	var from uint64
	for _, end := range ends {
		t.max = max(t.max, int(end-from))
		from = end
	}
	runtime.AddCleanup(t.mapped, func(release func()) { release() }, release)
	return t
}

// mapping is what all copies of a mapped table have in common.
type mapping struct{ _ byte }

// Mapped returns the memory of a table that MappedTable made; nil for others.
func (t *Table) Mapped() []byte {
	if t.mapped == nil {
		return nil
	}
	return t.data
}

// errFault says that the memory of a mapped table could not be read.
var errFault = errors.New("reading frames from their file: the disk does not give them back, see the kernel's log")

// Spooled reports whether frames of the plan lie in a file that is mapped.
func (p *Plan) Spooled() bool {
	return slices.ContainsFunc(p.Streams, func(s *Stream) bool { return s.Heads.mapped != nil })
}

// Guard calls f, which writes frames of the plan. Where the file they lie in cannot be
// read it returns an error, instead of the process being ended by SIGBUS (mmap(2)).
func (p *Plan) Guard(f func() error) (err error) {
	if !p.Spooled() {
		return f()
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch what := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // of runtime/debug: a fault
			err = errFault
		default:
			panic(what)
		}
	}()
	return f()
}

// End returns where entry k ends in the memory of a table whose entries have lengths
// of their own.
func (t *Table) End(k uint64) uint64 { return t.ends[k] }
