package replay

import (
	"errors"
	"io"

	"squall/pcaps"
)

// Source is where records come from: a *pcaps.Reader. Next returns io.EOF after the
// last.
type Source interface {
	Next() (pcaps.Record, error)
}

// merged takes records of several sources by their time stamps, of equal ones the
// earlier source's first. A record stays valid until its own source's next one.
type merged struct {
	from   []Source
	heads  []pcaps.Record
	errs   []error // why a source has no more
	newest int     // whose record was taken last; -1: none's
}

func newMerged(from []Source) *merged {
	return &merged{from: from, heads: make([]pcaps.Record, len(from)), errs: make([]error, len(from)), newest: -1}
}

// Next returns the earliest record. A source that breaks off ends all: what would
// have come from it is not known.
func (m *merged) Next() (pcaps.Record, error) {
	if m.newest < 0 {
		for i := range m.from {
			m.fetch(i)
		}
	} else {
		m.fetch(m.newest)
	}
	first := -1
	for i := range m.from {
		switch {
		case m.errs[i] != nil && !errors.Is(m.errs[i], io.EOF):
			return pcaps.Record{}, m.errs[i]
		case m.errs[i] == nil && (first < 0 || m.heads[i].Time < m.heads[first].Time):
			first = i
		}
	}
	if first < 0 {
		return pcaps.Record{}, io.EOF
	}
	m.newest = first
	return m.heads[first], nil
}

func (m *merged) fetch(i int) { m.heads[i], m.errs[i] = m.from[i].Next() }
