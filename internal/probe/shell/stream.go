package shell

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"sync"
	"time"

	"squall/internal/netns"
)

// Stream is a line of shell that goes on printing. Make it by [Follow].
type Stream struct {
	cmd  *exec.Cmd
	errs tail
	done chan struct{}
	err  error // valid once done is closed

	mu     sync.Mutex
	reaped bool
}

// Follow starts a line, on host or where that is nil by sh(1) here in the given
// namespace, and calls each for every line that it prints, from one goroutine.
// Lines over 64 KiB end it.
func Follow(host *Host, ns *netns.NS, line string, each func(string)) (*Stream, error) {
	s := &Stream{done: make(chan struct{})}
	if host != nil {
		// The login shell may be none of sh(1)'s family.
		s.cmd, ns = host.Command("exec /bin/sh -c "+Quote(line)), host.NS
	} else {
		s.cmd = Local(line)
	}
	s.cmd.Stderr = &s.errs
	s.cmd.WaitDelay = time.Second
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := start(ns, s.cmd); err != nil {
		return nil, err
	}
	go s.listen(out, each)
	return s, nil
}

func (s *Stream) listen(out io.Reader, each func(string)) {
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		each(scan.Text())
	}
	timer := time.AfterFunc(grace, s.Stop) // nobody listens any more
	err := s.cmd.Wait()
	timer.Stop()
	s.mu.Lock()
	s.reaped = true
	s.mu.Unlock()
	switch said := s.errs.last(); {
	case scan.Err() != nil:
		s.err = scan.Err()
	case said != "":
		s.err = errors.New(said)
	case err != nil:
		s.err = err
	default:
		s.err = io.EOF
	}
	close(s.done)
}

// Done is closed when the line has ended.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Err says why the line ended: the last line on its standard error, or its
// status. It may be called once Done is closed.
func (s *Stream) Err() error { return s.err }

// Stop kills the line. It does not wait.
func (s *Stream) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reaped {
		Kill(s.cmd)
	}
}
