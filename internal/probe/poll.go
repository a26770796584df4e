package probe

import (
	"fmt"
	"sync"
	"time"
)

// poll is one probe of a poller.
type poll struct {
	Entry
	owner   *Poller
	kick    chan edge // asks for a reading beside the clock
	answers chan answer

	mu      sync.Mutex // of what follows
	history history
	status  Status
}

// Status is how a polled probe has fared.
type Status struct {
	Probe    string
	State    State
	Readings uint64 // that came, whole or partial
	Failed   uint64 // that ended in an error and without counters
	Skipped  uint64 // that were due while another one was under way
	Last     int64  // CLOCK_MONOTONIC in ns of the last one that came; 0: none
	What     string // why it is not Present
}

type answer struct {
	reading Reading
	err     error
}

// edge is a reading asked for by Poller.Edge. Done, which has room, is told
// whether it came.
type edge struct {
	at   int64
	done chan<- bool
}

// loop is the probe's goroutine. It never waits for the probe: a reading is a
// goroutine of its own, of which there is one at most.
func (l *poll) loop(quit <-chan struct{}) {
	clock := time.NewTicker(l.Every)
	defer clock.Stop()
	patience := time.NewTimer(l.Patience)
	defer patience.Stop()

	busy := false
	var asked, waiting []edge // of the next reading, of this one
	begin := func() {
		busy = true
		waiting, asked = asked, nil
		patience.Reset(l.Patience)
		go func() {
			r, err := l.Probe.Read()
			l.answers <- answer{r, err} // has room: there is one at a time
		}()
	}
	begin()
	for {
		select {
		case <-quit:
			return
		case <-clock.C:
			if busy {
				l.skip()
			} else {
				begin()
			}
		case e := <-l.kick:
			asked = append(asked, e)
			if !busy {
				begin()
			}
		case <-patience.C:
			if busy {
				l.enter(Absent, fmt.Sprintf("no answer for %v", l.Patience))
			}
		case a := <-l.answers:
			busy = false
			var at int64
			for _, e := range waiting {
				at = e.at
			}
			came := l.take(a, at)
			for _, e := range waiting {
				e.done <- came
			}
			if len(asked) > 0 {
				begin()
			}
		}
	}
}

func (l *poll) skip() {
	l.mu.Lock()
	l.status.Skipped++
	l.mu.Unlock()
}

// take keeps a reading, tells where the probe's state changed by it, and reports
// whether there was any. Edge is the time of the edge it belongs to, 0: none.
func (l *poll) take(a answer, edge int64) bool {
	state, what := Present, ""
	l.mu.Lock()
	switch {
	case a.err != nil && len(a.reading.Counters) == 0:
		state = Absent
		l.status.Failed++
	default:
		if err := l.history.add(a.reading, edge); err != nil && a.err == nil {
			a.err = err
		}
		if a.err != nil {
			state = Partial
		}
		l.status.Readings++
	}
	if a.err != nil {
		what = a.err.Error()
	}
	l.mu.Unlock()
	l.enter(state, what)
	if state != Absent {
		l.mu.Lock()
		l.status.Last = a.reading.At
		l.mu.Unlock()
	}
	return state != Absent
}

func (l *poll) enter(state State, what string) {
	l.mu.Lock()
	before := l.status
	l.status.State, l.status.What = state, what
	l.mu.Unlock()
	if state == before.State {
		return
	}
	e := Event{Probe: l.Probe.Name(), At: now(), Since: before.Last, State: state, What: what}
	if state == Present {
		e.What = "back"
		if before.Last != 0 {
			e.What = fmt.Sprintf("back after %v", time.Duration(e.At-before.Last).Round(time.Millisecond))
		}
	}
	l.owner.tell(e)
}
