package shell

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrClosed is matched by the errors of a closed session.
var ErrClosed = errors.New("session closed")

// Session is a sh(1) on another machine that is kept running. It is started by
// the first line, and anew by the first line after it was lost: at once, then
// 1 s later, 2, 4, up to 16. In between the lines are answered by the error that
// lost it.
type Session struct {
	host Host

	line sync.Mutex // held by the one whose line runs
	lost error      // why there is no sh; nil: never lost since the last answer
	wait time.Duration
	next time.Time

	mu     sync.Mutex // of what follows; never held while waiting
	far    *far
	closed bool
}

// NewSession returns a session that has not connected yet.
func NewSession(h Host) *Session { return &Session{host: h} }

// Host returns the host.
func (s *Session) Host() Host { return s.host }

// Run has the line run by sh -c and returns its standard output. A line that
// takes longer is ended, at the far end by timeout(1), where that fails by the
// end of the session, and the error matches [ErrTimeout]. A status other than 0
// is a [*StatusError], with the output. Connecting comes on top, with the
// host's patience.
func (s *Session) Run(line string, timeout time.Duration) ([]byte, error) {
	s.line.Lock()
	defer s.line.Unlock()
	f, err := s.connect()
	if err != nil {
		return nil, fmt.Errorf("ssh %s: %w", s.host, err)
	}
	out, err := f.run(line, timeout)
	var status *StatusError
	switch {
	case errors.As(err, &status):
	case err != nil:
		s.drop(f, err)
	}
	if err == nil || status != nil {
		s.lost, s.wait = nil, 0
	}
	if status != nil && status.Status == timeoutStatus && f.limits {
		err = fmt.Errorf("%w: %v", ErrTimeout, timeout)
	}
	if err != nil {
		err = fmt.Errorf("ssh %s: %w", s.host, err)
	}
	return out, err
}

const longestWait = 16 * time.Second

func (s *Session) connect() (*far, error) {
	s.mu.Lock()
	f, closed := s.far, s.closed
	s.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	if f != nil {
		return f, nil
	}
	if s.lost != nil && time.Now().Before(s.next) {
		return nil, s.lost
	}
	f, err := call(s.host)
	if err == nil {
		s.mu.Lock()
		s.far, closed = f, s.closed
		s.mu.Unlock()
		if closed { // meanwhile
			f.end()
			return nil, ErrClosed
		}
		err = f.greet(s.host.patience())
	}
	if err != nil {
		s.drop(f, err)
		return nil, err
	}
	return f, nil
}

func (s *Session) drop(f *far, why error) {
	s.mu.Lock()
	s.far = nil
	s.mu.Unlock()
	if f != nil {
		f.end()
	}
	s.lost, s.next = why, time.Now().Add(s.wait)
	s.wait = min(max(2*s.wait, time.Second), longestWait)
}

// Close ends the sh and the line that is being waited for. It does not wait for
// the network.
func (s *Session) Close() error {
	s.mu.Lock()
	s.closed = true
	f := s.far
	s.mu.Unlock()
	if f != nil {
		f.end()
	}
	return nil
}
