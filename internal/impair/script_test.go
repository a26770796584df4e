package impair

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/internal/plan"
)

func parse(t testing.TB, specs ...string) Rules {
	t.Helper()
	rs, err := Parse(specs...)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// show draws a block: frames counted from 1, a copy with +, a wrong bit with !.
func show(b *plan.Block) string {
	var s []string
	for _, m := range b.Moves {
		x := fmt.Sprint(m.Frame + 1)
		if m.Copy {
			x += "+"
		}
		if m.Flip != 0 {
			x += "!"
		}
		s = append(s, x)
	}
	return strings.Join(s, " ")
}

// TestScript: what leaves of so many frames, written out by hand.
func TestScript(t *testing.T) {
	tests := []struct {
		n     uint64
		rules []string
		want  string
	}{
		{6, nil, "1 2 3 4 5 6"},
		{10, []string{"drop 2/4"}, "1 2 5 6 9 10"},
		{6, []string{"drop at 1,5-6"}, "2 3 4"},
		{6, []string{"duplicate 1/3 x2"}, "1 2 3 3+ 3+ 4 5 6 6+ 6+"},
		{9, []string{"swap 1/4"}, "1 2 4 3 5 6 8 7 9"},
		{8, []string{"swap 2/8"}, "1 2 3 4 6 5 8 7"},
		{9, []string{"hold 1/9 by 1"}, "1 2 3 4 5 6 7 9 8"},
		{12, []string{"hold 1/4 by 3"}, "2 3 4 1 6 7 8 5 10 11 12 9"},
		{9, []string{"hold 1/4 by 5"}, "1 2 3 5 6 7 8 9 4"}, // frame 8 has nothing to leave behind
		{12, []string{"hold 2/4 by 3"}, "1 2 5 6 3 4 9 10 7 11 8 12"},
		{9, []string{"hold at 2 by 1"}, "1 3 2 4 5 6 7 8 9"},
		{12, []string{"reorder 3/5 reverse"}, "1 2 5 4 3 6 7 10 9 8 11 12"},
		{5, []string{"reorder 4 at 2 rotate"}, "1 3 4 5 2"},
		{5, []string{"reorder 4 at 2 rotate 3"}, "1 5 2 3 4"},
		{4, []string{"corrupt 1/2"}, "1 2! 3 4!"},
		{3, []string{"corrupt at 2", "duplicate at 2"}, "1 2! 2+! 3"},
		{3, []string{"duplicate at 2", "corrupt at 2"}, "1 2! 2+ 3"},
		{3, []string{"duplicate at 2", "drop at 2"}, "1 2 3"}, // the copy leaves alone
		{6, []string{"drop 1/3", "swap 1/2"}, "2 1 5 4"},      // the second rule counts what the first leaves
		{4, []string{"swap at 1", "hold at 1 by 2"}, "1 3 2 4"},
		{2, []string{"corrupt at 1", "corrupt at 1"}, "1! 2"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.n, tt.rules), func(t *testing.T) {
			s, err := parse(t, tt.rules...).Script(tt.n, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, show(&s.Block)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			check(t, &s.Block)
		})
	}
}

func TestTimes(t *testing.T) {
	due := []int64{0, 10, 20, 20, 30, 100}
	tests := []struct {
		rules []string
		want  string
		due   []int64
	}{
		{[]string{"drop at 2"}, "1 3 4 5 6", []int64{0, 20, 20, 30, 100}},
		{[]string{"duplicate at 2 x2"}, "1 2 2+ 2+ 3 4 5 6", []int64{0, 10, 10, 10, 20, 20, 30, 100}},
		{[]string{"swap at 2"}, "1 3 2 4 5 6", due},
		{[]string{"hold at 1 by 4"}, "2 3 4 5 1 6", []int64{10, 20, 20, 30, 30, 100}},
		{[]string{"hold at 1 by 20ns"}, "2 3 4 1 5 6", []int64{10, 20, 20, 20, 30, 100}}, // behind all that are due then
		{[]string{"hold at 1-2 by 15ns"}, "1 3 4 2 5 6", []int64{15, 20, 20, 25, 30, 100}},
		{[]string{"hold at 6 by 1us"}, "1 2 3 4 5 6", []int64{0, 10, 20, 20, 30, 1100}},
		{[]string{"hold at 2 by 70ns", "reorder 3 at 4 reverse"}, "1 3 4 6 2 5", []int64{0, 20, 20, 30, 80, 100}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.rules), func(t *testing.T) {
			s, err := parse(t, tt.rules...).Script(uint64(len(due)), 0, due)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, show(&s.Block)); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.due, s.Due); diff != "" {
				t.Errorf("times (-want +got):\n%s", diff)
			}
		})
	}
}

// check compares a block's events with its moves.
func check(t *testing.T, b *plan.Block) {
	t.Helper()
	seen := make([]int, b.In)
	for i, m := range b.Moves {
		if m.Copy != (seen[m.Frame] > 0) {
			t.Fatalf("move %d of frame %d: copy %v after %d", i, m.Frame, m.Copy, seen[m.Frame])
		}
		seen[m.Frame]++
	}
	for i, e := range b.Events {
		if i > 0 && e.At < b.Events[i-1].At {
			t.Fatalf("event %d at move %d is behind one at %d", i, e.At, b.Events[i-1].At)
		}
		if int(e.At) > len(b.Moves) || uint64(e.Frame) >= b.In {
			t.Fatalf("event %+v of %d moves and %d frames", e, len(b.Moves), b.In)
		}
	}
}

// TestCounts: each rule alone makes exactly as many impairments as it says, and the
// moves show them.
func TestCounts(t *testing.T) {
	const n = 10_000
	tests := []struct {
		rule   string
		events int
		leave  int
	}{
		{"drop 2/100", 200, n - 200},
		{"duplicate 1/1000 x3", 10, n + 30},
		{"swap 1/50", 200, n},
		{"hold 1/100 by 5", 100, n},
		{"hold 1/100 by 100", 99, n}, // the last would leave behind the end
		{"reorder 16/1000 shuffle", 10, n},
		{"corrupt 1/500", 20, n},
		{"drop at 1,9000-9009", 11, n - 11},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			s, err := parse(t, tt.rule).Script(n, 3, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Events) != tt.events || len(s.Moves) != tt.leave {
				t.Errorf("%d events, %d leave, need %d and %d", len(s.Events), len(s.Moves), tt.events, tt.leave)
			}
			check(t, &s.Block)
		})
	}
}

func TestChance(t *testing.T) {
	const n = 100_000
	for _, rule := range []string{"drop 1%", "duplicate 1%", "swap 1%", "hold 1% by 2", "reorder 4 1% shuffle", "corrupt 1%"} {
		rs := parse(t, rule)
		a, _ := rs.Script(n, 7, nil)
		again, _ := rs.Script(n, 7, nil)
		other, _ := rs.Script(n, 8, nil)
		if diff := cmp.Diff(a, again); diff != "" {
			t.Errorf("%s: the same seed gives another script", rule)
		}
		if cmp.Equal(a.Events, other.Events) {
			t.Errorf("%s: another seed gives the same script", rule)
		}
		// The deviation of 1,000 drawn of 100,000 is 31.
		if len(a.Events) < 850 || len(a.Events) > 1150 {
			t.Errorf("%s: %d of %d, need about 1,000", rule, len(a.Events), n)
		}
		check(t, &a.Block)
	}
}

// TestLoop: the loop repeats what one long list would have.
func TestLoop(t *testing.T) {
	tests := []struct {
		rules []string
		cycle uint64
		in    uint64
	}{
		{[]string{"drop 1/10"}, 1, 10},
		{[]string{"drop 1/10"}, 4, 20},
		{[]string{"drop 1/10", "swap 1/6"}, 1, 20},        // 18 of 20 come to the second
		{[]string{"duplicate 1/4 x3", "drop 1/5"}, 1, 20}, // 7 for 4: 35 come
		{[]string{"swap 1/2", "reorder 4/5", "drop 2/3"}, 1, 30},
		{[]string{"hold 1/100 by 5"}, 1, 100},
		{[]string{"hold 1/100 by 100"}, 1, plan.MaxOrder / 100 * 100}, // reaches over the end of its hundred
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.rules, tt.cycle), func(t *testing.T) {
			rs := parse(t, tt.rules...)
			s, err := rs.Loop(tt.cycle, 1)
			if err != nil {
				t.Fatal(err)
			}
			if s.Loop.In != tt.in || len(s.First.Moves) > 0 {
				t.Fatalf("loop of %d frames, need %d", s.Loop.In, tt.in)
			}
			if tt.in > 1000 {
				return
			}
			long, err := rs.Script(3*tt.in, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			var want []plan.Move
			for k := range uint32(3) {
				for _, m := range s.Loop.Moves {
					m.Frame += k * uint32(tt.in)
					want = append(want, m)
				}
			}
			if diff := cmp.Diff(want, long.Moves); diff != "" {
				t.Errorf("three turns (-loop +list):\n%s", diff)
			}
		})
	}
}

func TestLoopWithPlaces(t *testing.T) {
	s, err := parse(t, "drop at 13", "swap 1/5").Loop(2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(&s.First), "1 2 3 5 4 6 7 8 10 9 11 12 14 16 15 17 18 19 20"; got != want {
		t.Errorf("first %s, need %s", got, want)
	}
	if got, want := show(&s.Loop), "1 2 3 5 4 6 7 8 10 9"; got != want {
		t.Errorf("loop %s, need %s", got, want)
	}
}

func TestRefuses(t *testing.T) {
	tests := []struct {
		rules []string
		loop  bool
		says  string
	}{
		{[]string{"drop at 1-5"}, false, "no frame is left"},
		{[]string{"drop at 6"}, false, `"drop at 6": frame 6 does not come to it, only 5 do`},
		{[]string{"drop at 1", "drop at 5"}, false, "only 4 do"},
		{[]string{"hold 1/2 by 3ms"}, false, "without times"},
		{[]string{"hold 1/2 by 3ms"}, true, "without a rate"},
		{[]string{"drop 1/1021", "drop 1/1031"}, true, "come round only after more than 1048576"},
		{[]string{"drop 0.000000001%"}, true, "comes to nothing in the 1048576 frames"},
		{[]string{"duplicate 1/1 x65536"}, false, ""},
		{[]string{"duplicate 50% x65536"}, true, "would leave, at most 4194304 fit"},
		{[]string{"hold 50% by 1048576"}, true, "held back by up to 1048576 frames"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.rules), func(t *testing.T) {
			rs := parse(t, tt.rules...)
			var err error
			if tt.loop {
				_, err = rs.Loop(1, 1)
			} else {
				_, err = rs.Script(5, 1, nil)
			}
			if tt.says == "" && err == nil {
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("have %v, need %q", err, tt.says)
			}
		})
	}
}

func TestAtRate(t *testing.T) {
	for _, tt := range []struct {
		pps  *big.Rat
		want uint64
	}{{big.NewRat(100_000, 1), 300}, {big.NewRat(1, 1), 1}, {big.NewRat(500, 1), 2}, {big.NewRat(499, 1), 1}} {
		rs := parse(t, "hold 1/100 by 3ms")
		if got := rs.AtRate(tt.pps)[0]; got.By != tt.want || got.For != 0 {
			t.Errorf("at %v frames a second: %d frames, need %d", tt.pps, got.By, tt.want)
		}
		if rs[0].For != 3*time.Millisecond {
			t.Error("the rules themselves changed")
		}
	}
}

// TestTally compares the figures with those counted by their definitions, each
// frame with all before it.
func TestTally(t *testing.T) {
	for seed := range uint64(200) {
		s, err := parse(t, "drop 5%", "duplicate 5% x2", "hold 5% by 7", "reorder 5 5% shuffle").Script(100, seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		var tally Tally
		var want Figures
		var first []uint32
		for _, m := range s.Moves {
			tally.Add(uint64(m.Frame))
			if slices.Contains(first, m.Frame) {
				want.Duplicated++
				continue
			}
			if j := slices.IndexFunc(first, func(n uint32) bool { return n > m.Frame }); j >= 0 {
				want.Reordered++
				want.Extents += uint64(len(first) - j)
				want.Extent = max(want.Extent, uint64(len(first)-j))
			}
			first = append(first, m.Frame)
		}
		want.Lost = uint64(100 - len(first))
		if diff := cmp.Diff(want, tally.Figures(100)); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// TestReference compares each rule with a naive one that moves single frames about
// in a slice, for many lengths and numbers.
func TestReference(t *testing.T) {
	for n := range uint64(40) {
		for k := uint64(1); k < 4; k++ {
			for every := uint64(1); every < 14; every++ {
				for _, rule := range []string{
					fmt.Sprintf("drop %d/%d", k, every),
					fmt.Sprintf("duplicate %d/%d x2", k, every),
					fmt.Sprintf("swap %d/%d", k, every),
					fmt.Sprintf("hold %d/%d by %d", k, every, 1+n%7),
					fmt.Sprintf("reorder %d/%d reverse", k+1, every),
					fmt.Sprintf("reorder %d/%d rotate", k+1, every),
				} {
					rs, err := Parse(rule)
					if err != nil {
						continue // more than there are
					}
					s, err := rs.Script(n, 1, nil)
					if err != nil {
						if n > 0 {
							t.Fatal(rule, n, err)
						}
						continue
					}
					if got, want := show(&s.Block), naive(&rs[0], n); got != want {
						t.Fatalf("%s of %d frames: %s, need %s", rule, n, got, want)
					}
				}
			}
		}
	}
}

// naive does a rule of the form K/N to the frames 1 to n.
func naive(r *Rule, n uint64) string {
	struck := func(p uint64) bool { // frame p, from 1, begins an impairment
		in := (p - 1) % r.N // place among the N
		last := r.N
		if p > n/r.N*r.N {
			return false
		}
		switch r.Kind {
		case plan.Hold:
			if r.By+r.K <= r.N {
				last -= r.By
			}
			return in >= last-r.K && in < last && p+r.By <= n
		case plan.Swap:
			return in >= last-2*r.K && (last-in)%2 == 0
		case plan.Reorder:
			return in == last-r.Burst
		}
		return in >= last-r.K
	}
	var out []string
	add := func(p uint64) { out = append(out, fmt.Sprint(p)) }
	for p := uint64(1); p <= n; p++ {
		hit := struck(p)
		switch r.Kind {
		case plan.Drop:
			if !hit {
				add(p)
			}
		case plan.Duplicate:
			add(p)
			for range r.Copies {
				if hit {
					out = append(out, fmt.Sprintf("%d+", p))
				}
			}
		case plan.Swap:
			if hit {
				add(p + 1)
				add(p)
				p++
			} else {
				add(p)
			}
		case plan.Hold:
			if !hit {
				add(p)
			}
			if p > r.By && struck(p-r.By) {
				add(p - r.By)
			}
		case plan.Reorder:
			if !hit {
				add(p)
				continue
			}
			for i := range r.Burst {
				if r.Order == Reverse {
					add(p + r.Burst - 1 - i)
				} else {
					add(p + (i+1)%r.Burst)
				}
			}
			p += r.Burst - 1
		}
	}
	return strings.Join(out, " ")
}
