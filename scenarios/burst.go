package scenarios

import (
	"sync"
	"time"

	"squall/internal/meter"
)

// burstGap is the quiet time, in ns, that ends a drop burst: loss periods closer
// together are one burst. An overrun queue loses every second or third frame,
// which makes as many loss periods; what its owner wants to know is when it
// began, how long it lasted and how much it cost.
const burstGap = 100 * int64(time.Millisecond)

// Burst is a drop burst: loss periods less than 100 ms apart.
type Burst struct {
	At      time.Time `json:"at"`      // the last frame before its first loss arrived
	Seconds float64   `json:"seconds"` // until the first frame behind its last loss arrived
	Frames  uint64    `json:"frames"`  // lost
	Periods uint64    `json:"periods"` // RFC 3357 loss periods
	Longest uint64    `json:"longest"` // lost in a row
	First   uint64    `json:"first"`   // sequence number of the first lost frame
	Stream  uint16    `json:"stream"`
}

// burstsKept and periodsKept bound what a phase keeps one by one.
const (
	burstsKept  = 4096
	periodsKept = 4096
)

// bursts joins the loss periods of one stream, in order of sequence, into
// bursts. It may be used from several goroutines.
type bursts struct {
	mu     sync.Mutex
	wall   int64 // CLOCK_REALTIME less CLOCK_MONOTONIC, ns
	closed func(Burst)

	start, end int64 // of the sending, once it is over
	at, until  int64
	open       Burst
	done       []Burst
	count      uint64
}

// sent notes when the stream was sent, before the last loss periods come.
func (b *bursts) sent(start, end int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start, b.end = start, end
}

func (b *bursts) add(p meter.LossPeriod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p = within(p, b.start, b.end)
	if b.open.Frames > 0 && p.At-b.until > burstGap {
		b.close()
	}
	if b.open.Frames == 0 {
		b.at, b.until, b.open = p.At, p.Until, Burst{First: p.First, Stream: p.Stream}
	}
	// Reordering may turn the times of neighbours round.
	b.at, b.until = min(b.at, p.At), max(b.until, p.Until)
	b.open.Frames += p.Frames
	b.open.Periods++
	b.open.Longest = max(b.open.Longest, p.Frames)
}

// close ends the open burst. The lock is held.
func (b *bursts) close() {
	if b.open.Frames == 0 {
		return
	}
	b.open.At = time.Unix(0, b.at+b.wall).UTC()
	b.open.Seconds = float64(b.until-b.at) / 1e9
	if b.count++; len(b.done) < burstsKept {
		b.done = append(b.done, b.open)
	}
	b.closed(b.open)
	b.open = Burst{}
}

// finish ends the last burst and returns all of them, the first 4,096 one by
// one.
func (b *bursts) finish() ([]Burst, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.close()
	return b.done, b.count
}
