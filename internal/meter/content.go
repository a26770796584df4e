package meter

import (
	"slices"

	"squall/internal/wire"
)

// SendTimes knows when frames were sent that carry no send time.
type SendTimes interface {
	// SentAt returns the CLOCK_MONOTONIC ns at which the frame with that
	// sequence number was sent, and false where it is not known. It must not
	// allocate.
	SentAt(seq uint64) (int64, bool)
}

// ContentMatcher recognises the frames of a replay by their fingerprints. Frame
// index of pass loop, of n frames each, has the sequence number loop*n+index.
//
// Where several frames of a pass are alike, an arrival is taken for the one
// nearest to the next expected number that is not matched yet, the later one on
// a tie; where all of them are, for a duplicate of the nearest. Of each frame of
// the pass only the occurrence nearest to the next expected number comes into
// question: the loss of half a pass in a row cannot be told from duplicates.
// Nor can order and loss be told among a run of frames that are all alike, but
// for their number.
//
// Match belongs to one goroutine.
type ContentMatcher struct {
	// Times, where set, gives arrivals their send times.
	Times SendTimes

	stream  uint16
	n       uint64 // frames of a pass
	total   uint64 // frames of all passes
	byPrint map[uint64][]uint32
	matched []uint64 // bit seq&mask, for the newest len*64 numbers below next
	mask    uint64
	next    uint64 // highest number matched + 1
}

// matchWindow is how many numbers below the highest one are known to be
// matched or not. Older ones count as matched.
const matchWindow = 1 << 16

// NewContentMatcher returns a matcher for a stream that sends a pass of frames
// with these fingerprints (wire.Fingerprint, each as the frame will arrive) over
// and over, total frames in all; 0 is without end.
func NewContentMatcher(stream uint16, pass []uint64, total uint64) *ContentMatcher {
	m := &ContentMatcher{
		stream:  stream,
		n:       uint64(len(pass)),
		total:   total,
		byPrint: make(map[uint64][]uint32, len(pass)),
		matched: make([]uint64, matchWindow/64),
		mask:    matchWindow - 1,
	}
	if total == 0 {
		m.total = wire.MaxSeq
	}
	for i, print := range pass {
		m.byPrint[print] = append(m.byPrint[print], uint32(i))
	}
	return m
}

// Also has the frame at the index of the pass be known by another fingerprint too:
// one that leaves with a wrong bit. Nothing may run while it does.
func (m *ContentMatcher) Also(index uint32, print uint64) {
	alike := m.byPrint[print]
	if i, there := slices.BinarySearch(alike, index); !there {
		m.byPrint[print] = slices.Insert(alike, i, index)
	}
}

// Match returns the arrival of a frame that came at that time (CLOCK_MONOTONIC
// ns).
func (m *ContentMatcher) Match(frame []byte, at int64) (Arrival, Match) {
	alike, ok := m.byPrint[wire.Fingerprint(frame)]
	if !ok {
		return Arrival{}, Stray
	}
	seq, ok := m.choose(alike)
	if !ok {
		return Arrival{}, Stray
	}
	m.mark(seq)
	a := Arrival{Stream: m.stream, Seq: seq, Size: size(frame), At: at}
	if m.Times != nil {
		a.Sent, a.HasSent = m.Times.SentAt(seq)
	}
	return a, Ours
}

// choose returns which of the numbers that belong to the alike frames of a
// pass, in ascending order, has arrived.
func (m *ContentMatcher) choose(alike []uint32) (uint64, bool) {
	// Occurrence i, from the stream's beginning on, has the number seq(i).
	k := uint64(len(alike))
	seq := func(i uint64) uint64 { return i/k*m.n + uint64(alike[i%k]) }
	place, _ := slices.BinarySearch(alike, uint32(m.next%m.n))
	first := m.next/m.n*k + uint64(place) // the first at or after next: not matched

	ahead := seq(first)
	hasAhead := ahead < m.total && (ahead-m.next <= m.n/2 || ahead < m.n)
	reach := m.n // how far back a better one may be
	if hasAhead {
		reach = min(reach, ahead-m.next-min(ahead-m.next, 1))
	}
	for i := first; i > 0 && m.next-seq(i-1) <= reach; i-- {
		if behind := seq(i - 1); !m.isMatched(behind) {
			return behind, true
		}
	}
	switch {
	case hasAhead:
		return ahead, true
	case first > 0:
		return seq(first - 1), true
	}
	return 0, false
}

func (m *ContentMatcher) isMatched(seq uint64) bool {
	if m.next > matchWindow && seq < m.next-matchWindow {
		return true
	}
	b := seq & m.mask
	return m.matched[b/64]&(1<<(b%64)) != 0
}

func (m *ContentMatcher) mark(seq uint64) {
	if m.next > matchWindow && seq < m.next-matchWindow {
		return
	}
	if seq >= m.next {
		for q := max(m.next, seq-min(seq, matchWindow-1)); q < seq; q++ {
			b := q & m.mask
			m.matched[b/64] &^= 1 << (b % 64)
		}
		m.next = seq + 1
	}
	b := seq & m.mask
	m.matched[b/64] |= 1 << (b % 64)
}
