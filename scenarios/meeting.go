package scenarios

import (
	"sync"
	"time"

	"squall/internal/pace"
)

// meeting has several runs begin to send at one time.
type meeting struct {
	mu    sync.Mutex
	away  int           // guests that have neither come nor left
	here  int           // that have come
	begin chan struct{} // closed when nobody is away
	at    int64
}

// guest is one of the runs.
type guest struct {
	of   *meeting
	came bool
}

// lead is how long before its start the last of several runs must be ready: an
// engine takes some 30 ms from the call of Send to its first frame (live attaches a
// program).
const lead = 100 * time.Millisecond

// newMeeting returns the guests.
func newMeeting(runs int) []guest {
	m := &meeting{away: runs, begin: make(chan struct{})}
	guests := make([]guest, runs)
	for i := range guests {
		guests[i].of = m
	}
	return guests
}

// wait waits for the others and returns the time at which all begin, CLOCK_MONOTONIC
// ns.
func (g *guest) wait() int64 {
	g.came = true
	g.of.arrive(1)
	<-g.of.begin
	return g.of.at
}

// leave is for a run that is over: one that never came is not waited for.
func (g *guest) leave() {
	if !g.came {
		g.of.arrive(0)
	}
}

func (m *meeting) arrive(here int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away--
	m.here += here
	if m.away == 0 && m.here > 0 {
		m.at = pace.Now() + int64(lead)
		close(m.begin)
	}
}
