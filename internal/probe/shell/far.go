package shell

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// far is one ssh process with the sh behind it.
type far struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	errs    tail
	mark    string
	replies chan reply
	gone    chan struct{} // closed by end
	once    sync.Once
	reaped  atomic.Bool // its process ID may be another's by now
	limits  bool        // the host has timeout(1)
}

type reply struct {
	out    []byte
	status int
	err    error
}

// timeoutStatus is what timeout(1) answers for a line that it has ended.
const timeoutStatus = 124

func call(h Host) (*far, error) {
	f := &far{mark: rand.Text(), replies: make(chan reply), gone: make(chan struct{})}
	f.errs.mark, f.errs.marked = f.mark, make(chan string, 1)
	// The login shell may be any; exec leaves no process between.
	f.cmd = h.Command("exec /bin/sh")
	f.cmd.Stderr = &f.errs
	f.cmd.WaitDelay = time.Second
	in, err := f.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.in = in
	if err := h.Start(f.cmd); err != nil {
		return nil, err
	}
	go f.listen(out)
	return f, nil
}

// greet waits for the sh, and asks whether it can bound its lines.
func (f *far) greet(patience time.Duration) error {
	// Numbers with a decimal point, messages in English.
	_, err := f.exchange("LC_ALL=C; export LC_ALL; timeout 5 true 2>/dev/null", patience)
	var status *StatusError
	if errors.As(err, &status) {
		return nil
	}
	f.limits = err == nil
	return err
}

// grace is what a line gets on top, so that the far end can end it.
const grace = time.Second

func (f *far) run(line string, timeout time.Duration) ([]byte, error) {
	line = "sh -c " + Quote(line)
	if f.limits {
		line = fmt.Sprintf("timeout %d %s", max(1, int(math.Ceil(timeout.Seconds()))), line)
	}
	return f.exchange(line, timeout+grace)
}

func (f *far) exchange(line string, timeout time.Duration) ([]byte, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	// A pipe that nobody empties blocks: the timer's business as well.
	sent := make(chan error, 1)
	go func() {
		_, err := fmt.Fprintf(f.in, "{ %s\n} </dev/null; printf '\\n%%s %%d\\n' %[2]s $?; echo %[2]s >&2\n", line, f.mark)
		sent <- err
	}()
	var r reply
	for came := false; !came; {
		select {
		case r, came = <-f.replies:
			if !came {
				return nil, f.why()
			}
		case err := <-sent:
			if err != nil { // the process has gone; the reader hears why
				sent = nil
			}
		case <-f.gone:
			return nil, ErrClosed
		case <-timer.C:
			return nil, fmt.Errorf("%w: %v", ErrTimeout, timeout)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	// Standard error comes by another pipe.
	select {
	case said := <-f.errs.marked:
		if r.status != 0 {
			return r.out, &StatusError{r.status, said}
		}
		return r.out, nil
	case <-f.gone:
		return nil, ErrClosed
	case <-timer.C:
		return nil, fmt.Errorf("%w: %v", ErrTimeout, timeout)
	}
}

// why tells what ended the ssh.
func (f *far) why() error {
	if said := f.errs.last(); said != "" {
		return errors.New(said)
	}
	return errors.New("connection ended")
}

// listen cuts what comes into replies until the process has ended.
func (f *far) listen(out io.Reader) {
	defer close(f.replies)
	in := bufio.NewReaderSize(out, 64<<10)
	mark := []byte(f.mark + " ")
	var buf bytes.Buffer
	for begin := true; ; {
		part, err := in.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			// Wait closes the pipe, so it comes after the last read. What ssh
			// says on standard error is complete then.
			timer := time.AfterFunc(grace, f.kill)
			_ = f.cmd.Wait() // the reply was what mattered
			f.reaped.Store(true)
			timer.Stop()
			return
		}
		if begin && bytes.HasPrefix(part, mark) {
			status, err := strconv.Atoi(string(bytes.TrimSpace(part[len(mark):])))
			r := reply{out: bytes.Clone(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), status: status, err: err}
			if buf.Len() > Limit {
				r = reply{err: fmt.Errorf("output: more than %d bytes", Limit)}
			}
			buf.Reset()
			f.answer(r)
		} else if buf.Len() <= Limit {
			buf.Write(part)
		}
		begin = err == nil
	}
}

func (f *far) answer(r reply) {
	select {
	case f.replies <- r:
	case <-f.gone:
	}
}

// end closes the line and kills the ssh. The sh at the far end ends with its
// standard input.
func (f *far) end() {
	f.once.Do(func() {
		close(f.gone)
		f.in.Close()
		f.kill()
	})
}

func (f *far) kill() {
	if !f.reaped.Load() {
		Kill(f.cmd)
	}
}
