package meter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRandomPaths sends streams over paths that lose, duplicate, delay and
// hold back frames, and compares every figure with the reference. The
// paths are the same on each run.
func TestRandomPaths(t *testing.T) {
	tests := []struct {
		name                       string
		loss, burst, dup, held, by int // chances in a thousand; by: places
	}{
		{"loss", 20, 0, 0, 0, 0},
		{"bursts of loss", 0, 5, 0, 0, 0},
		{"duplicates", 0, 0, 50, 0, 3},
		{"slight reordering", 0, 0, 0, 100, 3},
		{"wide reordering", 0, 0, 0, 30, 40},
		{"beyond the window", 0, 0, 10, 20, 200},
		{"all", 30, 5, 30, 100, 12},
		{"all, wide", 30, 5, 30, 200, 100},
	}
	for _, tt := range tests {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("%s/%d", tt.name, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 717))
				chance := func(n int) bool { return rng.IntN(1000) < n }
				const sent = 800
				type frame struct{ seq, place int }
				var path []frame
				for q := 0; q < sent; q++ {
					if chance(tt.burst) {
						q += rng.IntN(150)
						continue
					}
					if chance(tt.loss) {
						continue
					}
					for range 1 + rng.IntN(2)*b2i(chance(2*tt.dup)) {
						place := q
						if tt.by > 0 && (chance(tt.held) || len(path) > 0 && path[len(path)-1].seq == q) {
							place += rng.IntN(tt.by)
						}
						path = append(path, frame{q, place})
					}
				}
				slices.SortStableFunc(path, func(a, b frame) int { return a.place - b.place })
				var arrivals []Arrival
				for i, f := range path {
					arrivals = append(arrivals, Arrival{
						Seq: uint64(f.seq), Size: 64 + f.seq%1400,
						Sent: int64(f.seq) * 800, HasSent: !chance(10),
						At: int64(i)*800 + 5_000 + rng.Int64N(100_000),
					})
				}
				run(t, Config{Window: 64, Threshold: 1 + int(seed), Noticeable: 1 + 4*seed, Periods: 1000}, arrivals, sent)
			})
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
