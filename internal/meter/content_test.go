package meter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/wire"
)

// letter is a frame whose content is one letter.
func letter(c byte) []byte { return udp4(1, 2, []byte{c, c}) }

func prints(pass string) []uint64 {
	var p []uint64
	for i := range len(pass) {
		p = append(p, wire.Fingerprint(letter(pass[i])))
	}
	return p
}

func TestContentMatcher(t *testing.T) {
	const stray = -1
	tests := []struct {
		name     string
		pass     string
		total    uint64 // 0: without end
		arrivals string
		want     []int
	}{
		{"one pass", "abcd", 4, "abcd", []int{0, 1, 2, 3}},
		{"three passes", "abc", 0, "abcabcabc", []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		{"loss and swap", "abcdef", 6, "acbdf", []int{0, 2, 1, 3, 5}},
		{"loss of most of the only pass", "abcdefghij", 10, "aj", []int{0, 9}},
		{"far back in the only pass", "abcdefghij", 10, "acdefghijb", []int{0, 2, 3, 4, 5, 6, 7, 8, 9, 1}},
		{"duplicate", "abcdef", 0, "abbc", []int{0, 1, 1, 2}},
		{"duplicate from almost half a pass back", "abcdef", 0, "abcbd", []int{0, 1, 2, 1, 3}},
		{"half a pass ahead", "abcdef", 0, "abcdefd", []int{0, 1, 2, 3, 4, 5, 9}},
		{"duplicate at the end", "abcdef", 6, "abcdeffa", []int{0, 1, 2, 3, 4, 5, 5, 0}},
		{"loss over the seam of two passes", "abcdef", 0, "abcdbc", []int{0, 1, 2, 3, 7, 8}},
		{"swap over the seam of two passes", "abcdef", 0, "abcdeafb", []int{0, 1, 2, 3, 4, 6, 5, 7}},
		{"all alike", "aaaa", 8, "aaaaaaaa", []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{"all alike, one too many", "aaa", 3, "aaaa", []int{0, 1, 2, 2}},
		{"alike pairs in order", "aabbaabb", 8, "aabbaabb", []int{0, 1, 2, 3, 4, 5, 6, 7}},
		{"the nearest is behind", "axbcdefghaij", 12, "xbcahij", []int{1, 2, 3, 0, 8, 10, 11}},
		{"the nearest is ahead", "axbcdefaghij", 12, "xbcahij", []int{1, 2, 3, 7, 9, 10, 11}},
		{"tie goes forward", "abcxaefgh", 9, "bca", []int{1, 2, 4}},
		{"swap of alike ones with another", "abacada", 7, "bacaadax", []int{1, 2, 3, 4, 6, 5, 0, stray}},
		{"unknown", "ab", 2, "axb", []int{0, stray, 1}},
		{"no frames", "", 0, "a", []int{stray}},
		{"pass longer than the total", "abc", 2, "abc", []int{0, 1, stray}},
		{"total within a pass", "abcd", 6, "abcdabc", []int{0, 1, 2, 3, 4, 5, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := NewContentMatcher(4, prints(tt.pass), tt.total)
			var got []int
			for i := range len(tt.arrivals) {
				a, match := m.Match(letter(tt.arrivals[i]), 5)
				switch {
				case match == Stray:
					got = append(got, stray)
				case match != Ours || a.Stream != 4 || a.Size != 64 || a.At != 5 || a.HasSent:
					t.Fatalf("match %d, arrival %+v", match, a)
				default:
					got = append(got, int(a.Seq))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("sequence numbers (-want +got):\n%s", diff)
			}
		})
	}
}

// referenceChoice is the rule of ContentMatcher, tried on every frame of a pass
// and every occurrence of it.
func referenceChoice(pass string, total uint64, matched map[uint64]bool, next uint64, c byte) (uint64, bool) {
	n := uint64(len(pass))
	closer := func(q, than uint64) bool { // the later one on a tie
		d, e := max(q, next)-min(q, next), max(than, next)-min(than, next)
		return d < e || d == e && q > than
	}
	var fresh, used uint64
	var hasFresh, hasUsed bool
	for i := range n {
		if pass[i] != c {
			continue
		}
		near, ok := uint64(0), false
		for q := i; q < total && q <= next+2*n; q += n {
			if !ok || closer(q, near) {
				near, ok = q, true
			}
		}
		switch {
		case !ok:
		case matched[near]:
			if !hasUsed || closer(near, used) {
				used, hasUsed = near, true
			}
		default:
			if !hasFresh || closer(near, fresh) {
				fresh, hasFresh = near, true
			}
		}
	}
	if hasFresh {
		return fresh, true
	}
	return used, hasUsed
}

func FuzzContentMatcher(f *testing.F) {
	f.Add("abcd", uint64(0), "abcdabdc")
	f.Add("aabbacab", uint64(20), "abcaabbbbcacaabcabcaabbaaaa")
	f.Add("axbcdefaghij", uint64(12), "xbcahijaaax")
	f.Fuzz(func(t *testing.T, pass string, total uint64, arrivals string) {
		if len(pass) > 40 || len(arrivals) > 400 {
			return
		}
		m := NewContentMatcher(0, prints(pass), total)
		if total == 0 {
			total = 1 << 40
		}
		matched := map[uint64]bool{}
		next := uint64(0)
		for i := range len(arrivals) {
			want, ok := referenceChoice(pass, total, matched, next, arrivals[i])
			got, match := m.Match(letter(arrivals[i]), 0)
			if ok != (match == Ours) || got.Seq != want {
				t.Fatalf("arrival %d, %q: match %d, number %d, want %v, %d", i, arrivals[i], match, got.Seq, ok, want)
			}
			if ok {
				matched[want] = true
				next = max(next, want+1)
			}
		}
	})
}

// TestContentMatcherForgets checks what lies further back than the matcher
// remembers, and that its ring starts afresh on each turn.
func TestContentMatcherForgets(t *testing.T) {
	m := NewContentMatcher(0, prints("a"), 0)
	for q := range uint64(3 * matchWindow) {
		if a, match := m.Match(letter('a'), 0); match != Ours || a.Seq != q {
			t.Fatalf("match %d, number %d, want %d", match, a.Seq, q)
		}
	}
	m = NewContentMatcher(0, prints("a"), 0)
	m.mark(5 * matchWindow)
	m.mark(7) // forgotten at once: its place belongs to a newer number
	for q, want := range map[uint64]bool{
		5 * matchWindow:                     true,
		5*matchWindow - 1:                   false,
		5*matchWindow + 1 - matchWindow:     false,
		5*matchWindow + 1 - matchWindow - 1: true,
		0:                                   true,
	} {
		if m.isMatched(q) != want {
			t.Errorf("number %d of %d matched: %v, want %v", q, m.next, !want, want)
		}
	}
}

// sentEvery knows the send times of the first of a stream's frames.
type sentEvery struct {
	interval int64
	known    uint64
}

func (s sentEvery) SentAt(seq uint64) (int64, bool) { return int64(seq) * s.interval, seq < s.known }

func TestContentMatcherTimes(t *testing.T) {
	m := NewContentMatcher(0, prints("abc"), 3)
	m.Times = sentEvery{1000, 2}
	var got []Arrival
	for _, c := range []byte("abc") {
		a, _ := m.Match(letter(c), 5000)
		got = append(got, a)
	}
	want := []Arrival{
		{Seq: 0, Size: 64, Sent: 0, HasSent: true, At: 5000},
		{Seq: 1, Size: 64, Sent: 1000, HasSent: true, At: 5000},
		{Seq: 2, Size: 64, Sent: 2000, At: 5000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
}
