package shell

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"squall/internal/netns"
)

// Limit is the most bytes that a line may print.
const Limit = 4 << 20

// ErrTimeout is matched by the errors of lines that took too long.
var ErrTimeout = errors.New("no end in time")

// StatusError is a line that ran and did not end with status 0.
type StatusError struct {
	Status int    // of the line; of timeout(1), 124, where it ended the line
	Stderr string // the last line on standard error
}

// Error says what the line said, or else its status.
func (e *StatusError) Error() string {
	if e.Stderr == "" {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return fmt.Sprintf("%s (exit status %d)", e.Stderr, e.Status)
}

// Run runs a line by sh(1) on this machine, in the given network namespace, and
// returns its standard output. After the time given the whole process group is
// killed and the error matches [ErrTimeout]; so it is when it prints more than
// [Limit] bytes. A status other than 0 is a [*StatusError], with the output.
func Run(ns *netns.NS, line string, timeout time.Duration) ([]byte, error) {
	cmd := Local(line)
	out, errs := &capped{stop: func() { Kill(cmd) }}, &tail{}
	cmd.Stdout, cmd.Stderr = out, errs
	// A child in the background that kept a pipe must not hold us.
	cmd.WaitDelay = time.Second
	if err := start(ns, cmd); err != nil {
		return nil, err
	}
	timer := time.AfterFunc(timeout, func() { Kill(cmd) })
	err := cmd.Wait()
	late := !timer.Stop()
	Kill(cmd) // what the line left behind it in the background
	var exit *exec.ExitError
	switch {
	case out.full:
		return nil, fmt.Errorf("output: more than %d bytes", Limit)
	case late:
		return nil, fmt.Errorf("%w: %v", ErrTimeout, timeout)
	case errors.Is(err, exec.ErrWaitDelay):
		return out.buf.Bytes(), nil // ended well; what was still to come is the child's
	case errors.As(err, &exit):
		return out.buf.Bytes(), &StatusError{exit.ExitCode(), errs.last()}
	}
	return out.buf.Bytes(), err
}

// capped keeps up to Limit bytes and calls stop at the first beyond. The buffer
// is not embedded: io.Copy would find its ReadFrom, which knows no limit.
type capped struct {
	buf  bytes.Buffer
	full bool
	stop func()
}

func (c *capped) Write(p []byte) (int, error) {
	if c.full || c.buf.Len()+len(p) > Limit {
		c.full = true
		c.stop()
		return len(p), nil
	}
	return c.buf.Write(p)
}

// tail keeps the last bytes written to it, since the mark where it has one.
type tail struct {
	mark   string
	marked chan string // has room for one: the last line before a mark

	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if at := bytes.Index(t.end, []byte(t.mark)); t.mark != "" && at >= 0 {
		select {
		case t.marked <- lastLine(t.end[:at]):
		default: // nobody asked
		}
		t.end = append(t.end[:0], t.end[at+len(t.mark):]...)
	}
	if n := len(t.end) - 1024; n > 0 {
		t.end = append(t.end[:0], t.end[n:]...)
	}
	return len(p), nil
}

// last is the last line that is not empty.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return lastLine(t.end)
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
