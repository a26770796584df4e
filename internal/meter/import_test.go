package meter

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// exported is a tally as a counter elsewhere has it.
func exported(t *tally) Distribution {
	var classes iter.Seq2[int64, uint64] = func(yield func(int64, uint64) bool) {
		for _, b := range t.hist.Distribution() {
			if b.Count != 0 && !yield(b.To, uint64(b.Count)) {
				return
			}
		}
	}
	return Distribution{Classes: classes, Min: t.min, Max: t.max, SumHigh: t.hi, Sum: t.lo}
}

// TestSum takes a stream's account apart in the middle of its life, has the parts
// finished by Losses and put together by Sum, and compares with the stream's own.
func TestSum(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 717))
			c, err := Config{Stream: 4, Window: 1024, Noticeable: 1 + seed, Periods: 40}.Checked()
			if err != nil {
				t.Fatal(err)
			}
			losses, err := NewLosses(c)
			if err != nil {
				t.Fatal(err)
			}
			previous, none := uint64(0), true
			c.OnLoss = func(p LossPeriod) {
				losses.Add(p, previous, none)
				previous, none = p.First+p.Frames-1, false
			}
			s := newStream(c)
			next := uint64(0)
			for range 3000 {
				seq := next
				switch n := rng.IntN(100); {
				case n < int(seed): // far ahead
					seq += rng.Uint64N(2000)
				case n < 20: // back
					seq -= min(seq, rng.Uint64N(1200))
				case n < 25:
					seq += rng.Uint64N(3)
				}
				next = max(next, seq+1)
				at := int64(next)*1000 + rng.Int64N(5000)
				s.Add(Arrival{Seq: seq, Size: 64, Sent: int64(seq) * 1000, HasSent: true, At: at})
			}

			sent := next + rng.Uint64N(3)
			open := s.loss.open
			rest := Rest{
				Settled:  Settled{Lost: s.loss.frames, Periods: s.loss.count, Noticeable: s.loss.notice},
				Last:     s.loss.last,
				Open:     open,
				Previous: previous, None: none,
				Before: s.loss.before,
				Base:   s.base, Next: s.next,
				At: func(q uint64) (int64, bool) { x := s.ring[q&s.mask]; return x.at, x.here },
			}
			counts := Counts{
				Sent: sent, Received: s.received, Bytes: s.bytes, Duplicated: s.duplicated, Late: s.late,
				Negative: s.latency.negative, Runs: s.acks.runs,
				Extent: exported(&s.order.extent), LateTime: exported(&s.order.lateTime), Latency: exported(&s.latency.delay),
				Settled: losses.Finish(rest, sent), Losses: losses,
			}
			sum, err := NewSum(c)
			if err != nil {
				t.Fatal(err)
			}
			sum.Add(counts)
			got := sum.Report()

			s.config.OnLoss, s.loss.onLoss = nil, nil
			s.Finish(sent)
			want := s.Report()
			want.Density, want.Occupancy, want.Variation = nil, nil, nil
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if want.Lost == 0 || want.Reordered == 0 {
				t.Errorf("lost %d, reordered %d: nothing was tried", want.Lost, want.Reordered)
			}

			sum.Add(counts)
			if twice := sum.Report(); twice.Received != 2*want.Received || twice.Lost != 2*want.Lost ||
				twice.Latency.Count != 2*want.Latency.Count || twice.LossPattern.Count != 2*want.LossPattern.Count {
				t.Errorf("the sum of two is not twice one: %+v", twice)
			}
		})
	}
}
