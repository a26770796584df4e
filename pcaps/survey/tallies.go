package survey

import (
	"cmp"
	"slices"

	"squall/pcaps"
)

// tally is what a conversation came to: of its client, of its server.
type tally struct {
	frames, bytes [2]uint64
	first, last   int64 // ns since 1970; 0: no frame had a sound time
}

func (t *tally) total() uint64 { return t.bytes[0] + t.bytes[1] }

// piece is how many tallies are made at once.
const piece = 1024

// tallies holds one a conversation, by its ID.
type tallies struct{ pieces [][]tally }

func (t *tallies) at(id int) *tally { return &t.pieces[id/piece][id%piece] }

func (t *tallies) add(id int, fromClient bool, rec *pcaps.Record) {
	if id/piece == len(t.pieces) {
		t.pieces = append(t.pieces, make([]tally, piece))
	}
	c, side := t.at(id), 1
	if fromClient {
		side = 0
	}
	c.frames[side]++
	c.bytes[side] += uint64(rec.Len)
	if rec.Clock == pcaps.ClockSound {
		if c.first == 0 || rec.Time < c.first {
			c.first = rec.Time
		}
		c.last = max(c.last, rec.Time)
	}
}

// top returns the IDs of the most bytes, of n conversations, the largest first.
func (t *tallies) top(most, n int) []int {
	most = min(most, n)
	var best []int
	order := func(a, b int) int { return cmp.Or(cmp.Compare(t.at(b).total(), t.at(a).total()), cmp.Compare(a, b)) }
	for id := range n {
		if len(best) == most {
			if most == 0 || order(id, best[most-1]) > 0 {
				continue
			}
			best = best[:most-1]
		}
		i, _ := slices.BinarySearchFunc(best, id, order)
		best = slices.Insert(best, i, id)
	}
	return best
}
