package compare

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"

	"squall/pcaps"
)

// MaxFrames is how many frames a capture may have.
const MaxFrames = 10_000_000

// Options say what counts as a difference.
type Options struct {
	// Ignore are fields that may differ.
	Ignore Set
	// SnapLen is how many bytes of a frame are compared; 0: all. For captures of
	// which one was cut.
	SnapLen int
	// List bounds the differences that are listed one by one.
	List int
}

// Report says how B differs from A.
type Report struct {
	A Side `json:"a"`
	B Side `json:"b"`

	Same       uint64       `json:"same"`
	Altered    uint64       `json:"altered"`
	Missing    uint64       `json:"missing"`    // of A, not in B
	Extra      uint64       `json:"extra"`      // of B, not in A
	Duplicated uint64       `json:"duplicated"` // of B, more often than in A
	Reordered  Reordering   `json:"reordered"`
	Fields     []FieldCount `json:"altered_fields"` // the most frequent first
	List       []Difference `json:"differences"`    // by place in A, then in B; the first ones
	Unlisted   uint64       `json:"unlisted"`       // further ones
}

// Side is one of the captures.
type Side struct {
	Frames     uint64 `json:"frames"`
	LinkType   uint64 `json:"link_type"` // not compared, for they cannot be Ethernet
	Cut        uint64 `json:"cut"`       // by the snap length: compared as far as they go
	EndedEarly string `json:"ended_early,omitempty"`
}

// FieldCount says in how many altered frames a field differs.
type FieldCount struct {
	Field  string `json:"field"`
	Frames uint64 `json:"frames"`
}

// Difference is one of them.
type Difference struct {
	Kind   string   `json:"kind"`             // missing, extra, duplicated, altered, reordered
	A      int      `json:"a,omitempty"`      // number of the frame in A, from 1
	B      int      `json:"b,omitempty"`      // in B
	Extent int      `json:"extent,omitempty"` // of a reordered one
	Fields []Change `json:"fields,omitempty"` // of an altered one
}

// Change is a field that differs. Values are "" where only hashes are known.
type Change struct {
	Field string `json:"field"`
	A     string `json:"a,omitempty"`
	B     string `json:"b,omitempty"`
}

// Equal reports whether there is no difference.
func (r *Report) Equal() bool {
	return r.Altered+r.Missing+r.Extra+r.Duplicated+r.Reordered.Frames == 0
}

// Captures compares what is behind two readers, which it reads to their ends.
func Captures(ctx context.Context, a, b *pcaps.Reader, o Options) (*Report, error) {
	p := &printer{seed: maphash.MakeSeed()}
	r := &Report{}
	left, err := read(ctx, a, p, o, &r.A)
	if err != nil {
		return nil, err
	}
	right, err := read(ctx, b, p, o, &r.B)
	if err != nil {
		return nil, err
	}
	pairAll(p.seed, left.entries, right.entries, o.Ignore)
	r.count(p.seed, left, right, o)
	return r, nil
}

// frames are those of a capture that are compared.
type frames struct {
	entries []entry
	numbers []uint32 // in the capture, from 1; nil: without a gap
}

func (f *frames) number(i int) int {
	if f.numbers == nil {
		return i + 1
	}
	return int(f.numbers[i])
}

// read takes the prints of all frames.
func read(ctx context.Context, r *pcaps.Reader, p *printer, o Options, s *Side) (f frames, _ error) {
	var shape pcaps.Reframer
	for {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, pcaps.ErrNoRecords):
			return f, nil
		case errors.Is(err, pcaps.ErrTruncated):
			s.EndedEarly = err.Error()
			return f, nil
		case err != nil:
			return f, err
		}
		if s.Frames++; s.Frames > MaxFrames {
			return f, fmt.Errorf("a capture of more than %d frames: compare parts of it (squall pcap slice)", MaxFrames)
		}
		if s.Frames%4096 == 0 && ctx.Err() != nil {
			return f, errors.New("reading the captures: stopped")
		}
		frame, length, _, no := shape.Frame(rec)
		if no != nil {
			if f.numbers == nil {
				f.numbers = make([]uint32, len(f.entries))
				for i := range f.numbers {
					f.numbers[i] = uint32(i + 1)
				}
			}
			s.LinkType++
			continue
		}
		if o.SnapLen > 0 {
			frame = frame[:min(o.SnapLen, len(frame))]
		} else if rec.Cut() {
			s.Cut++
		}
		e := entry{print: p.take(frame, length), mate: alone}
		if rec.Clock == pcaps.ClockSound {
			e.at = rec.Time
		}
		f.entries = append(f.entries, e)
		if f.numbers != nil {
			f.numbers = append(f.numbers, uint32(s.Frames))
		}
	}
}

// count makes the report of what was paired.
func (r *Report) count(seed maphash.Seed, a, b frames, o Options) {
	var altered [fields]uint64
	r.List = []Difference{}
	list := func(d Difference) {
		if len(r.List) < o.List {
			r.List = append(r.List, d)
		} else {
			r.Unlisted++
		}
	}
	for i := range a.entries {
		e := &a.entries[i]
		if e.mate == alone {
			r.Missing++
			list(Difference{Kind: "missing", A: a.number(i)})
			continue
		}
		mate := &b.entries[e.mate]
		differ := e.differ(&mate.print, o.Ignore)
		if differ == 0 {
			r.Same++
			continue
		}
		r.Altered++
		d := Difference{Kind: "altered", A: a.number(i), B: b.number(int(e.mate))}
		for f := range fields {
			if differ.has(f) {
				altered[f]++
				d.Fields = append(d.Fields, Change{f.String(), e.show(f), mate.show(f)})
			}
		}
		list(d)
	}
	for j := range b.entries {
		e := &b.entries[j]
		switch {
		case e.mate != alone:
		case e.copy:
			r.Duplicated++
			list(Difference{Kind: "duplicated", B: b.number(j)})
		default:
			r.Extra++
			list(Difference{Kind: "extra", B: b.number(j)})
		}
	}
	lane := func(e *entry) uint64 { return e.flow(seed) }
	r.Reordered = order(b.entries, lane, func(j, extent int) {
		list(Difference{Kind: "reordered", A: a.number(int(b.entries[j].mate)), B: b.number(j), Extent: extent})
	})
	r.Fields = []FieldCount{}
	for f := range fields {
		if altered[f] > 0 {
			r.Fields = append(r.Fields, FieldCount{f.String(), altered[f]})
		}
	}
	slices.SortStableFunc(r.Fields, func(x, y FieldCount) int { return int(int64(y.Frames) - int64(x.Frames)) })
}
