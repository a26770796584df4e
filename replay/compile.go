package replay

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
	"time"

	"squall/internal/plan"
	"squall/internal/wire"
	"squall/pcaps"
	"squall/replay/fit"
	"squall/replay/rewrite"
)

// Compile makes a plan of the capture at path. See CompileAll.
func Compile(path string, o Options) (*plan.Plan, Summary, error) {
	return CompileAll([]string{path}, o)
}

// CompileAll makes a plan of captures, in turn or merged; "-" is standard input.
//
// Where a capture is cut in mid-record (pcaps.ErrTruncated) it returns the plan of the
// sound records together with the error: the caller may refuse, or warn and go on.
// With every other error the plan is nil: no frame to send, a wrong time stamp with
// pcaps.TimeStop, or an error of the source.
func CompileAll(paths []string, o Options) (*plan.Plan, Summary, error) {
	b := newCompiler(paths[0], o)
	defer b.frames.abort()
	if b.o.Passes > 1 {
		for _, p := range paths {
			if p == "-" {
				return nil, b.sum, errors.New("standard input can be read once: for passes that differ give a file")
			}
		}
	}
	var cut error
	for pass := uint64(0); pass < b.o.Passes; pass++ {
		b.begin(pass)
		err := b.files(paths)
		if errors.Is(err, pcaps.ErrTruncated) {
			cut = err
		} else if err != nil {
			return nil, b.sum, err
		}
		if pass == 0 && b.o.FewPasses {
			b.o.Passes = min(b.o.Passes, max(b.o.Limit/max(b.frames.size(), 1), 1))
		}
	}
	return b.end(cut)
}

// CompileFrom makes a plan of the records of a capture called name, once. See
// CompileAll.
func CompileFrom(from Source, name string, o Options) (*plan.Plan, Summary, error) {
	o.Passes = 1
	b := newCompiler(name, o)
	defer b.frames.abort()
	b.begin(0)
	err := b.records(from)
	if err != nil && !errors.Is(err, pcaps.ErrTruncated) {
		return nil, b.sum, err
	}
	return b.end(err)
}

// compiler takes records through the steps of the package comment.
type compiler struct {
	o      Options
	name   string
	sum    Summary
	frames store
	due    []int64
	clock  clock
	limit  fit.Limit

	pass    uint64
	first   int // the pass's first frame
	pieces  fit.Frames
	padded  []byte
	written []byte
	changed []rewrite.Changed // by what each copy of the record was
}

func newCompiler(name string, o Options) *compiler {
	b := &compiler{o: o.defaults(), name: name}
	b.frames = store{limit: b.o.Limit, dir: b.o.Dir}
	b.limit = fit.Limit{MTU: b.o.MTU, IgnoreDF: b.o.IgnoreDF}
	return b
}

// begin begins a pass. What became of records is counted in the first only.
func (b *compiler) begin(pass uint64) {
	counts := &b.sum
	if pass > 0 {
		counts = new(Summary)
	}
	b.pass = pass
	b.clock = clock{policy: b.o.Times, maxGap: int64(b.o.MaxGap), sum: counts}
	if pass > 0 && len(b.due) > 0 {
		b.clock.due = b.due[len(b.due)-1] + b.gap() + int64(b.o.PassGap)
	}
	b.first = len(b.due)
}

// gap is the mean one of the pass so far: what parts it from what follows.
func (b *compiler) gap() int64 {
	due := b.due[b.first:]
	if len(due) == 0 {
		return 0
	}
	return meanGap(due[len(due)-1]-due[0], len(due))
}

// files reads captures in turn, or at once.
func (b *compiler) files(paths []string) (err error) {
	var readers []*pcaps.Reader
	defer func() {
		for _, r := range readers {
			if b.pass == 0 {
				b.sum.Excess += r.Excess()
			}
			err = errors.Join(err, r.Close())
		}
	}()
	open := func(path string) (*pcaps.Reader, error) {
		r, err := pcaps.Open(path)
		if err == nil {
			readers = append(readers, r)
			b.frames.expect(uint64(r.Size()) * min(b.o.Copies, 1024))
		}
		return r, err
	}
	if b.o.Merge && len(paths) > 1 {
		var from []Source
		for _, p := range paths {
			r, err := open(p)
			if err != nil {
				return err
			}
			from = append(from, r)
		}
		return b.records(newMerged(from))
	}
	for i, p := range paths {
		r, err := open(p)
		if err != nil {
			return err
		}
		if i > 0 {
			b.clock.follow(b.gap())
		}
		if err := b.records(r); err != nil {
			return err
		}
	}
	return nil
}

// records takes all records of a source.
func (b *compiler) records(from Source) error {
	for {
		r, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := b.record(&r); err != nil {
			return err
		}
	}
}

// record decides the fate of one record.
func (b *compiler) record(r *pcaps.Record) error {
	sum := b.clock.sum
	sum.Records++
	frame, length, made, err := b.header(r)
	switch {
	case errors.Is(err, pcaps.ErrLinkType):
		if sum.Unfit == nil {
			sum.Unfit = make(map[pcaps.LinkType]uint64)
		}
		sum.Unfit[r.LinkType]++
		return nil
	case err != nil:
		return fmt.Errorf("capture %q: record %d: %w", b.name, sum.Records, err)
	case length < wire.HeaderLen:
		sum.Short++
		return nil
	}
	cut := len(frame) < length
	if cut && b.o.Truncated == TruncatedPad {
		if b.o.Oversize == fit.Skip && !b.limit.Fits(frame, length) || length > pcaps.MaxFrame {
			sum.Long++ // nor is there memory for what the record may claim
			return nil
		}
		b.padded = append(b.padded[:0], frame...)
		b.padded = append(b.padded, make([]byte, length-len(frame))...)
		frame = b.padded
	}
	if cut && b.o.Truncated == TruncatedSkip || len(frame) < wire.HeaderLen {
		sum.Cut++
		return nil
	}
	long := !b.limit.Fits(frame, len(frame))
	if !b.copies(frame) {
		sum.Long++
		return nil
	}
	due, ok, err := b.clock.next(r)
	if err != nil {
		return fmt.Errorf("capture %q: record %d: %w", b.name, sum.Records, err)
	}
	if !ok {
		return nil
	}
	b.count(made, cut, long)
	if len(b.due) == 0 {
		b.sum.First = r.Time
	}
	for i := range b.pieces.Len() {
		if err := b.frames.add(b.pieces.At(i)); err != nil {
			return fmt.Errorf("capture %q: %w", b.name, err)
		}
		b.due = append(b.due, due)
	}
	return nil
}

// header gives a frame its Ethernet header. Where to is asked when the first frame
// needs one.
func (b *compiler) header(r *pcaps.Record) (frame []byte, length int, made bool, err error) {
	h := b.o.Header
	frame, length, made, err = h.Frame(*r)
	if made && h.Dst == nil && b.o.NextHop != nil {
		if h.Dst, err = b.o.NextHop(); err != nil {
			return nil, 0, false, err
		}
		return h.Frame(*r)
	}
	return frame, length, made, err
}

// copies makes the copies of a frame, rewritten and as short as the port needs them.
// It returns false where that cannot be.
func (b *compiler) copies(frame []byte) bool {
	b.pieces.Reset()
	b.changed = b.changed[:0]
	for k := range b.o.Copies {
		f := frame
		if b.o.Rewrite != nil {
			written, by, err := b.o.Rewrite.Rewrite(b.written[:0], frame, b.pass*b.o.Copies+k)
			if err != nil {
				return false
			}
			b.written, f = written, written
			b.changed = append(b.changed, by)
		}
		if b.limit.Apply(b.o.Oversize, &b.pieces, f) != nil {
			return false
		}
	}
	return true
}

// count counts what was done to a record that is in the plan.
func (b *compiler) count(made, cut, long bool) {
	sum := b.clock.sum
	for _, by := range b.changed {
		sum.Rewritten.Add(by)
	}
	if made {
		sum.Reframed++
	}
	if cut && b.o.Truncated == TruncatedPad {
		sum.Padded++
	} else if cut {
		sum.SentCut++
	}
	if !long {
		return
	}
	switch b.o.Oversize {
	case fit.Fragment:
		sum.Fragmented++
	case fit.Segment:
		sum.Segmented++
	case fit.Truncate:
		sum.Truncated++
	}
}

// end makes the plan. cut, if not nil, is why the capture is not whole.
func (b *compiler) end(cut error) (*plan.Plan, Summary, error) {
	sum := &b.sum
	if len(b.due) == 0 {
		if cut != nil && sum.Records == 0 {
			return nil, *sum, cut
		}
		return nil, *sum, sum.nothing(b.name)
	}
	table, err := b.frames.table()
	if err != nil {
		return nil, *sum, fmt.Errorf("capture %q: %w", b.name, err)
	}
	n := uint64(len(b.due))
	sum.Frames, sum.Bytes, sum.Spooled, sum.Passes = n, uint64(table.Bytes()), b.frames.spooled(), b.o.Passes
	sum.Duration = time.Duration(b.due[n/b.o.Passes-1])
	p := plan.Plan{
		Streams: []*plan.Stream{{Name: filepath.Base(b.name), Heads: table, Tag: plan.TagNone}},
		Due:     b.due,
		Pass:    n,
	}
	if len(b.o.Impair) > 0 {
		s, err := b.o.Impair.Script(n, b.o.Seed, b.due)
		if err != nil {
			return nil, *sum, fmt.Errorf("capture %q: %w", b.name, err)
		}
		p.Script, p.Due, p.Pass = s.Plan(), s.Due, uint64(len(s.Due))
	}
	made, err := plan.New(p)
	if err != nil {
		return nil, *sum, fmt.Errorf("capture %q: %w", b.name, err)
	}
	return made, *sum, cut
}

// Fingerprints returns wire.Fingerprint of every frame of one pass, in order: what a
// receiver matches arrivals by. They hold within this process.
func Fingerprints(p *plan.Plan) []uint64 {
	prints := make([]uint64, p.Pass)
	frame := make([]byte, p.MaxLen())
	var at atomic.Uint64
	defer ReadAhead(p, at.Load)()
	for i := range prints {
		at.Store(uint64(i))
		prints[i] = wire.Fingerprint(frame[:p.Write(frame, uint64(i), 0)])
	}
	return prints
}
