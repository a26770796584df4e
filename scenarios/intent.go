package scenarios

import (
	"math"
	"sync"
	"sync/atomic"

	"squall/internal/impair"
	"squall/internal/meter"
	"squall/internal/plan"
	"squall/internal/wire"
	"squall/replay"
)

// intent is what a plan's script does to its frames, worked out for what is asked
// while a run is under way and after it. Counters are of frames that left.
type intent struct {
	p           *plan.Plan
	first, loop sheet
	// replay: the receiver knows frames by their content, count in all (0: no end).
	replay bool
	count  uint64
	// left is how many frames left in all, once that is known.
	left atomic.Uint64

	mu          sync.Mutex
	periods     []meter.LossPeriod // that were not made, the first of them
	periodCount uint64             // all of them
}

// sheet is one block of the script.
type sheet struct {
	b       *plan.Block
	leaves  []uint32 // of a frame: 1 + its place among the moves, 0 where it never leaves
	made    Made
	figures []impair.Figures // a stream
	soFar   []figures32      // of all streams, after so many moves
}

type figures32 struct{ lost, duplicated, reordered uint32 }

// newIntent returns nil for a plan that leaves as it is.
func newIntent(p *plan.Plan) *intent {
	if p.Script == nil {
		return nil
	}
	n := &intent{p: p}
	n.left.Store(math.MaxUint64)
	n.first, n.loop = n.sheet(&p.Script.First), n.sheet(&p.Script.Loop)
	return n
}

func (n *intent) sheet(b *plan.Block) sheet {
	s := sheet{b: b, leaves: make([]uint32, b.In), soFar: make([]figures32, 1, len(b.Moves)+1)}
	for i, m := range b.Moves {
		if s.leaves[m.Frame] == 0 {
			s.leaves[m.Frame] = uint32(i) + 1
		}
	}
	for i := range b.Events {
		s.made.count(&b.Events[i])
	}
	tallies := make([]impair.Tally, len(n.p.Streams))
	var high uint32
	var distinct uint32
	now := figures32{}
	for _, m := range b.Moves {
		k, j := n.p.Number(uint64(m.Frame))
		before := tallies[k].Figures(0)
		tallies[k].Add(j)
		after := tallies[k].Figures(0)
		now.duplicated += uint32(after.Duplicated - before.Duplicated)
		now.reordered += uint32(after.Reordered - before.Reordered)
		if after.Duplicated == before.Duplicated {
			distinct++
		}
		high = max(high, m.Frame+1)
		now.lost = high - distinct
		s.soFar = append(s.soFar, now)
	}
	for k := range tallies {
		s.figures = append(s.figures, tallies[k].Figures(n.p.Among(k, b.In)))
	}
	return s
}

// where returns the block that move i is in, which of its moves it is, how many
// turns of the loop were before it, and whether the first block was.
func (n *intent) where(i uint64) (s *sheet, move int, turns uint64, past bool) {
	b, move, turns, _ := n.p.Script.Place(i)
	if b == n.first.b {
		return &n.first, move, 0, false
	}
	return &n.loop, move, turns, true
}

// made returns what has been done once n frames have left.
func (n *intent) made(left uint64) Made {
	s, move, turns, past := n.where(left)
	var m Made
	if past {
		m.add(n.first.made, 1)
		m.add(n.loop.made, turns)
	}
	for i := range s.b.Events {
		if s.b.Events[i].At >= uint32(move) {
			break
		}
		m.count(&s.b.Events[i])
	}
	return m
}

// roughly returns what a receiver of all that has left would have counted, of all
// streams together: for samples.
func (n *intent) roughly(left uint64) (lost, duplicated, reordered uint64) {
	s, move, turns, past := n.where(left)
	at := s.soFar[move]
	lost, duplicated, reordered = uint64(at.lost), uint64(at.duplicated), uint64(at.reordered)
	if past {
		for _, w := range []struct {
			s *sheet
			n uint64
		}{{&n.first, 1}, {&n.loop, turns}} {
			for _, f := range w.s.figures {
				lost, duplicated, reordered = lost+w.n*f.Lost, duplicated+w.n*f.Duplicated, reordered+w.n*f.Reordered
			}
		}
	}
	return lost, duplicated, reordered
}

// expected returns what a receiver must count of the stream at index k where
// nothing happens on the way.
func (n *intent) expected(k int, left uint64) impair.Figures {
	if n.replay {
		return n.matched(left)
	}
	s, move, turns, past := n.where(left)
	var f impair.Figures
	if past {
		f.Add(n.first.figures[k])
		f.AddTimes(n.loop.figures[k], turns)
	}
	var t impair.Tally
	for _, m := range s.b.Moves[:move] {
		if of, j := n.p.Number(uint64(m.Frame)); of == k {
			t.Add(j)
		}
	}
	_, _, _, base := n.p.Script.Place(left)
	f.Add(t.Figures(n.p.Numbers(k, left) - n.p.Among(k, base)))
	return f
}

// matched is expected of a replay, whose frames are known by their content: among
// frames that are alike a receiver cannot tell which was moved. It finds out by
// showing a matcher what leaves. Of many passes it shows three, and adds what the
// third brought for each further one.
func (n *intent) matched(left uint64) impair.Figures {
	const shown = 3
	pass := uint64(len(n.loop.b.Moves))
	if left/pass <= shown {
		return n.show(left, left)
	}
	more := left/pass - shown
	f, less := n.show(left-more*pass, left), n.show(left-(more+1)*pass, left)
	f.AddTimes(impair.Figures{
		Lost: f.Lost - less.Lost, Duplicated: f.Duplicated - less.Duplicated,
		Reordered: f.Reordered - less.Reordered, Extents: f.Extents - less.Extents,
	}, more)
	return f
}

// show returns the figures of the first count frames that leave, where left leave in
// all: only then does a matcher that knows how many there are meet its end.
func (n *intent) show(count, left uint64) impair.Figures {
	var total uint64
	if left == n.count {
		total = count
	}
	m, frame := contentMatcher(n.p, total), make([]byte, n.p.MaxLen())
	var t impair.Tally
	for i := range count {
		if a, match := m.Match(frame[:n.p.Write(frame, i, 0)], 0); match == meter.Ours {
			t.Add(a.Seq)
		}
	}
	return t.Figures(n.p.Covered(count))
}

// absent reports whether the number j of the stream at index k never left.
func (n *intent) absent(k int, j uint64) bool {
	f := n.p.Frame(k, j)
	s, base := &n.first, uint64(0)
	if f >= n.first.b.In {
		f -= n.first.b.In
		turns := f / n.loop.b.In
		s, f, base = &n.loop, f%n.loop.b.In, uint64(len(n.first.b.Moves))+turns*uint64(len(n.loop.b.Moves))
	}
	at := s.leaves[f]
	return at == 0 || base+uint64(at)-1 >= n.left.Load()
}

// loss returns the part of a loss period that left and did not arrive, and notes it.
// Numbers that never left are not among the frames sent, so they part no period
// (RFC 3357 section 4.2); false: there is nothing else in it.
func (n *intent) loss(k int, p meter.LossPeriod) (meter.LossPeriod, bool) {
	end := p.First + p.Frames
	for p.First < end && n.absent(k, p.First) {
		p.First++
	}
	p.Frames = end - p.First - n.absents(k, p.First, end)
	if p.Frames == 0 {
		return p, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.periodCount++; len(n.periods) < periodsKept {
		n.periods = append(n.periods, p)
	}
	return p, true
}

// absents counts the numbers from first to end-1 of the stream at index k that never
// left.
func (n *intent) absents(k int, first, end uint64) (count uint64) {
	turn, once := n.p.Among(k, n.loop.b.In), n.p.Among(k, n.first.b.In)
	for j := first; j < end; {
		if turns := (end - j) / max(turn, 1); j >= once && turns > 1 {
			// So many numbers in a row have as many gaps wherever they begin. The last
			// turn may not have left whole.
			count += (turns - 1) * n.loop.figures[k].Lost
			j += (turns - 1) * turn
			continue
		}
		if n.absent(k, j) {
			count++
		}
		j++
	}
	return count
}

// contentMatcher makes what knows the frames of a replay of so many in all (0: without
// end), also those that leave with a wrong bit.
func contentMatcher(p *plan.Plan, total uint64) *meter.ContentMatcher {
	if p.Script == nil {
		return meter.NewContentMatcher(p.Streams[0].ID, replay.Fingerprints(p), total)
	}
	frame := make([]byte, p.MaxLen())
	prints := make([]uint64, p.Originals())
	for f := range prints {
		prints[f] = wire.Fingerprint(frame[:p.Original(frame, uint64(f), 0)])
	}
	if total > 0 {
		total = p.Covered(total)
	}
	m := meter.NewContentMatcher(p.Streams[0].ID, prints, total)
	for i, move := range p.Script.Loop.Moves {
		if move.Flip != 0 {
			m.Also(move.Frame, wire.Fingerprint(frame[:p.Write(frame, uint64(i), 0)]))
		}
	}
	return m
}
