package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// flushPause is how long the disk is left alone between two flushes of a file:
// samples come once a second and never wait for it, loss events may come by the
// hundred.
const flushPause = 500 * time.Millisecond

// lines is a file of JSON lines. It is made with its first line.
//
// A line is with the kernel when add returns, so a killed process leaves it behind;
// a goroutine flushes the file to the disk, so that a power cut leaves it too. add
// does not wait for the disk: it is called where frames are received.
type lines struct {
	path    string
	f       *os.File
	size    int64
	dirty   chan struct{} // holds one: there is something to flush
	closing chan struct{}
	flusher sync.WaitGroup

	mu  sync.Mutex
	err error
}

func newLines(path string) *lines {
	return &lines{path: path, dirty: make(chan struct{}, 1), closing: make(chan struct{})}
}

func (l *lines) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *lines) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

// add appends one line with one write. After an error nothing more is written:
// a gap in the middle would not be seen.
func (l *lines) add(v any) {
	if l.failed() != nil {
		return
	}
	if l.f == nil {
		f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			l.fail(err)
			return
		}
		l.f = f
		l.flusher.Go(l.flush)
	}
	b, err := json.Marshal(v)
	if err != nil {
		l.fail(err)
		return
	}
	n, err := l.f.Write(append(b, '\n'))
	if err != nil && n > 0 {
		// A full disk takes half a line.
		err = errors.Join(err, l.f.Truncate(l.size))
	}
	l.size += int64(n)
	l.fail(err)
	select {
	case l.dirty <- struct{}{}:
	default:
	}
}

// flush flushes what was added, until the file is closed.
func (l *lines) flush() {
	dir := filepath.Dir(l.path)
	l.fail(errors.Join(flushDir(dir), flushDir(filepath.Dir(dir))))
	for {
		select {
		case <-l.dirty:
			l.fail(flush(l.f))
		case <-l.closing:
			l.fail(flush(l.f))
			return
		}
		select {
		case <-time.After(flushPause):
		case <-l.closing:
		}
	}
}

func (l *lines) close() {
	if l.f != nil {
		close(l.closing)
		l.flusher.Wait()
		l.fail(l.f.Close())
		l.f = nil
	}
}

// flush writes a file to the disk, where its file system can (fsync(2): EINVAL says
// that it cannot).
func flush(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}

// flushDir writes the names in a directory to the disk.
func flushDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) { // one that may be written and not read
			return nil
		}
		return err
	}
	return errors.Join(flush(f), f.Close())
}

// longestLine bounds a line that is read: ours have a few hundred bytes.
const longestLine = 1 << 20

// readLines gives the lines of a file to take, which says whether a line is what it
// ought to be. Of a file that was being written when everything ended, the last line
// may be half there: damage says in words which lines were left out. No file is an
// empty one.
func readLines(path string, take func(line []byte) bool) (damage string, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	name := filepath.Base(path)
	in := bufio.NewScanner(f)
	in.Buffer(nil, longestLine)
	n, left, first := 0, 0, 0
	for in.Scan() {
		n++
		if len(bytes.TrimSpace(in.Bytes())) > 0 && !take(in.Bytes()) {
			if left++; left == 1 {
				first = n
			}
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Sprintf("%s: line %d is longer than %d bytes; it and what is behind it are left out", name, n+1, longestLine), nil
	case err != nil:
		return "", err
	case left == 0:
		return "", nil
	case left == 1 && first == n:
		return fmt.Sprintf("%s: line %d, the last, is half written and left out", name, n), nil
	}
	return fmt.Sprintf("%s: lines that are broken are left out: %d of %d, the first is line %d", name, left, n, first), nil
}
