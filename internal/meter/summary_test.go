package meter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestTallyOfWeeks has sums beyond 64 bits: frames of 2 s each, 3e12 at a time
// (5 Mpps for a week).
func TestTallyOfWeeks(t *testing.T) {
	const frames, delay = 3_000_000_000_000, 2_000_000_000
	a, b := newTally(timeDigits), newTally(timeDigits)
	for week := range uint64(20) {
		a.add(delay, frames)
		b.merge(&a)
		for name, got := range map[string]Summary{"added": a.summary(), "merged": b.summary()} {
			want := Summary{Count: (week + 1) * frames, Min: delay, Mean: delay, P50: delay, P99: delay, P999: delay, Max: delay}
			if name == "merged" {
				want.Count = (week + 1) * (week + 2) / 2 * frames
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("week %d, %s (-want +got):\n%s", week, name, diff)
			}
		}
	}
}

// TestTallyBounds has the smallest and largest numbers.
func TestTallyBounds(t *testing.T) {
	for _, digits := range []int{countDigits, timeDigits} {
		y := newTally(digits)
		y.add(highest+5, 1)
		y.add(0, 1)
		if n := uint64(y.hist.TotalCount()); n != y.count {
			t.Errorf("%d digits: the histogram holds %d of %d", digits, n, y.count)
		}
		got := y.summary()
		want := Summary{Count: 2, Mean: (highest + 5) / 2.0, P99: highest + 5, P999: highest + 5, Max: highest + 5}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d digits (-want +got):\n%s", digits, diff)
		}
	}
}
