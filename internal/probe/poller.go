package probe

import (
	"io"
	"sync"
	"time"
)

// Entry is a probe and its clock.
type Entry struct {
	Probe Probe
	// Every is the interval of its readings; 0: 1 s.
	Every time.Duration
	// Patience is after how long without an answer the probe is absent. A probe
	// that bounds its readings itself has the better words. 0: 12 s, which is
	// over what commands, sessions and pages allow themselves, a connection by
	// ssh included.
	Patience time.Duration
	// Keep is how many readings are kept, at least 4; 0: 7200. When there are
	// more, every second one of the older half is dropped. A kept reading takes
	// 8 bytes a counter.
	Keep int
}

// Poller reads probes, each on a clock and a goroutine of its own, and keeps what
// they found. Make it by [NewPoller]. Its methods may be called from any
// goroutine, before, during and after the polling, but Start and Stop once each.
//
// A reading that takes longer than its interval delays nobody: the readings that
// would have been due meanwhile are skipped and counted, and a second one of the
// same probe never begins before the first has ended.
type Poller struct {
	polls   []*poll
	observe func(Event)
	quit    chan struct{}
	loops   sync.WaitGroup

	mu     sync.Mutex
	events []Event
}

// NewPoller prepares the polling. The first reading of every probe is due at
// Start. Observe, which may be nil, is told each event, from the goroutine of the
// probe that it is about: it must not wait for the poller.
func NewPoller(observe func(Event), entries ...Entry) *Poller {
	p := &Poller{observe: observe, quit: make(chan struct{})}
	for _, e := range entries {
		if e.Every <= 0 {
			e.Every = time.Second
		}
		if e.Patience <= 0 {
			e.Patience = 12 * time.Second
		}
		if e.Keep <= 0 {
			e.Keep = 7200
		}
		p.polls = append(p.polls, &poll{
			Entry: e, owner: p,
			kick:    make(chan edge),
			answers: make(chan answer, 1),
			history: history{keep: max(4, e.Keep)},
		})
	}
	return p
}

// Start begins the polling and returns.
func (p *Poller) Start() {
	for _, l := range p.polls {
		p.loops.Add(1)
		go func() {
			defer p.loops.Done()
			l.loop(p.quit)
		}()
	}
}

// closing is how long Stop waits for probes to close.
const closing = time.Second

// Stop ends the polling and closes the probes that can be closed. It returns
// within little more than a second though a probe hangs: its reading is left to
// itself, and what it finds to nobody. What was kept can still be asked for.
func (p *Poller) Stop() {
	close(p.quit)
	p.loops.Wait() // none of them waits for a probe
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		var each sync.WaitGroup
		for _, l := range p.polls {
			if c, ok := l.Probe.(io.Closer); ok {
				each.Go(func() { c.Close() })
			}
		}
		each.Wait()
	}()
	select {
	case <-closed:
	case <-time.After(closing):
	}
}

// Edge has every probe read at once, beside its clock, and waits until all have
// answered, or as long as given. The readings are kept, and not thinned out, as
// the edge of a phase. It returns the time of the call, which the questions about
// spans know the edge by, and the names of the probes that did not answer with a
// reading begun since the call.
func (p *Poller) Edge(wait time.Duration) (at int64, missing []string) {
	at = now()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	late := make(chan struct{})
	defer close(late)
	done := make([]chan bool, len(p.polls))
	for i, l := range p.polls {
		done[i] = make(chan bool, 1)
		go func() {
			select {
			case l.kick <- edge{at, done[i]}:
			case <-late:
			case <-p.quit:
			}
		}()
	}
	for i, l := range p.polls {
		came := false
		select {
		case came = <-done[i]:
		case <-timer.C:
			timer.Reset(0) // for the next one too
		case <-p.quit:
		}
		select {
		case came = <-done[i]: // both were there
		default:
		}
		if !came {
			missing = append(missing, l.Probe.Name())
		}
	}
	return at, missing
}

// maxEvents bounds the events that are kept; observers are told all.
const maxEvents = 10_000

func (p *Poller) tell(e Event) {
	p.mu.Lock()
	if len(p.events) < maxEvents {
		p.events = append(p.events, e)
	}
	p.mu.Unlock()
	if p.observe != nil {
		p.observe(e)
	}
}

// Events returns the events so far in order, the first 10,000 of them.
func (p *Poller) Events() []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Event(nil), p.events...)
}
