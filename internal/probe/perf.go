package probe

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"squall/internal/probe/shell"
)

// Perf reads the processor's own counters: perf-stat(1) of all CPUs, by one
// process that is kept running and prints an interval's counts at a time
// (perf stat -a -I). Each counter has its event's name and holds what was counted
// since the first reading, for as long as this perf runs; what passed while it
// was started again is missing from it, which [Perf.Read] says by its error.
//
// Where an event had to share the hardware with others, perf scales what it saw.
// Reading.At is when the last whole interval came. Make it by [NewPerf] and
// close it.
type Perf struct {
	label string
	line  string
	host  *shell.Host
	wait  time.Duration // for the first figures

	mu     sync.Mutex
	stream *shell.Stream
	fresh  chan struct{} // closed by the first interval of the stream
	sums   perfSums
	next   time.Time // of a new start
	lost   error
	closed bool
}

var perfEvent = regexp.MustCompile(`^[-\w./:=@,]+$`)

// NewPerf returns a probe that has not started perf yet. Host is the machine,
// nil this one, and label the Where of the counters: perf where it is empty.
// Events are named as perf-list(1) does. Every is perf's interval, at least
// 10 ms; 0: 1 s.
func NewPerf(host *shell.Host, label string, every time.Duration, events ...string) (*Perf, error) {
	if label == "" {
		label = "perf"
	}
	if every <= 0 {
		every = time.Second
	}
	if len(events) == 0 || every < 10*time.Millisecond {
		return nil, fmt.Errorf("perf: have %d events every %v, need one or more, every 10ms or longer", len(events), every)
	}
	for _, e := range events {
		if !perfEvent.MatchString(e) || e[0] == '-' {
			return nil, fmt.Errorf("perf: event %q: need a name as perf list shows it", e)
		}
	}
	return &Perf{
		label: label, host: host, wait: 2*every + defaultTimeout,
		// It writes to standard error, but for this.
		line: fmt.Sprintf("LC_ALL=C exec perf stat --log-fd 1 -x, -a -I %d -e %s", every.Milliseconds(), shell.Quote(strings.Join(events, ","))),
	}, nil
}

// Name returns "perf" and the label.
func (p *Perf) Name() string { return "perf " + p.label }

// Read returns the counts up to the last interval. The first reading starts perf
// and waits for two intervals, at most 5 s longer than they are. A perf that
// ended, or is not there, is an error; it is started again, at most every 10 s.
// Events that the machine does not have are an error as well, beside the
// counters of the others.
func (p *Perf) Read() (Reading, error) {
	stream, fresh, err := p.start()
	if err == nil {
		err = p.await(stream, fresh)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if p.lost == nil {
			p.lost = err
		}
		return Reading{}, fmt.Errorf("%s: %w", p.Name(), err)
	}
	r := Reading{At: p.sums.at}
	for _, c := range p.sums.counters {
		c.Where = p.label
		r.Counters = append(r.Counters, c)
	}
	if len(p.sums.absent) > 0 {
		err = fmt.Errorf("%s: %s: not supported or not counted on this machine", p.Name(), strings.Join(p.sums.absent, ", "))
	}
	return r, err
}

// perfRest is how long perf is left alone after it failed.
const perfRest = 10 * time.Second

func (p *Perf) start() (*shell.Stream, chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, nil, shell.ErrClosed
	case p.stream != nil:
		return p.stream, p.fresh, nil
	case time.Now().Before(p.next):
		return nil, nil, p.lost
	}
	p.next, p.lost = time.Now().Add(perfRest), nil
	p.sums.begin()
	fresh := make(chan struct{})
	var once sync.Once
	stream, err := shell.Follow(p.host, nil, p.line, func(line string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.sums.line(line) {
			once.Do(func() { close(fresh) })
		}
	})
	if err != nil {
		return nil, nil, err
	}
	p.stream, p.fresh = stream, fresh
	return stream, fresh, nil
}

// await waits for figures, and tells why there are none.
func (p *Perf) await(stream *shell.Stream, fresh chan struct{}) error {
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	select {
	case <-stream.Done():
	default:
		select {
		case <-fresh:
			return nil
		case <-stream.Done():
		case <-timer.C:
			return shell.ErrTimeout
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream == stream {
		p.stream = nil
	}
	if p.closed {
		return shell.ErrClosed
	}
	return fmt.Errorf("perf ended: %w", stream.Err())
}

// Close ends perf.
func (p *Perf) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.stream != nil {
		p.stream.Stop()
	}
	return nil
}

// perfSums adds up perf's intervals. The lines of one interval come in one
// piece and have the same time at their beginning:
//
//	1.000216,9990,,context-switches,1000840097,100.00,9.9,K/sec
//	1.000216,<not supported>,,cycles,0,100.00,,
//	seconds,count,unit,event,ns counted,percent of the time,...
type perfSums struct {
	counters []Counter // whole intervals
	absent   []string
	at       int64

	time    string
	came    int64 // the last line of it
	pending []Counter
	missing []string
}

// begin forgets an interval that a perf did not finish.
func (s *perfSums) begin() { s.time, s.pending, s.missing = "", nil, nil }

// line takes a line and reports whether an interval is complete, which is known
// by the first line of the next.
func (s *perfSums) line(line string) bool {
	f := strings.Split(line, ",")
	if len(f) < 4 || strings.HasPrefix(line, "#") {
		return false
	}
	complete := s.time != "" && s.time != f[0]
	if complete {
		s.add()
	}
	s.time, s.came = f[0], now()
	// An event may have commas of its own: cpu/event=0x3c,umask=0x0/. What
	// follows it are a whole number and a percentage.
	event := f[3]
	for i := 4; i < len(f) && strings.Count(event, "/") == 1; i++ {
		event += "," + f[i]
	}
	c, ok := number(f[1])
	if !ok {
		s.missing = append(s.missing, event)
		return complete
	}
	c.Name, c.Level = event, false
	s.pending = append(s.pending, c)
	return complete
}

func (s *perfSums) add() {
	var interval found // gives names that are there twice a number
	for _, c := range s.pending {
		interval.add(c)
	}
	for _, c := range interval.counters {
		i := 0
		for ; i < len(s.counters) && s.counters[i].Name != c.Name; i++ {
		}
		if i == len(s.counters) {
			s.counters = append(s.counters, c)
			continue
		}
		if sum := &s.counters[i]; sum.Float == 0 && c.Float == 0 {
			sum.Value += c.Value
		} else {
			sum.set(sum.Number() + c.Number())
		}
	}
	s.absent, s.pending, s.missing, s.at = s.missing, nil, nil, s.came
}
