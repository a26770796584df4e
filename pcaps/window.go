package pcaps

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The byte orders.
var (
	le = binary.LittleEndian
	be = binary.BigEndian
)

const (
	// MaxFrame is the most that is read and written of a frame, in bytes:
	// libpcap's MAXIMUM_SNAPLEN (pcap-int.h).
	MaxFrame = 262144
	// maxLength is the longest that a frame is believed to have been on the wire.
	maxLength = 1<<31 - 1
	// windowSize is how much of a capture is held, in bytes, and so the longest
	// record or block that is read. It fits the caches that cores of this decade
	// have to themselves.
	windowSize = 1 << 19
	// firstWindow is what a capture begins with: most are small.
	firstWindow = 1 << 16
)

// window is the part of a capture that is in memory: a decoder looks at a whole
// record in place, and takes it. Nothing is copied but the record that lies
// across the end.
//
//	file ──read(2)──► ▒▒▒taken▒▒▒│ record in hand │ read ahead ...│ free
//	                  base       at                               end
//
// It is filled by read(2), not mapped: a pipe and an unpacked stream then go the
// same way as a file, and a file that somebody cuts while it is read is a short
// read rather than a SIGBUS. From the page cache that costs a copy at the speed
// of memory.
type window struct {
	name string
	src  io.Reader

	buf     []byte
	at, end int
	base    int64 // byte of the file at which buf begins
	err     error // why src gives no more

	records uint64 // frames so far, the one in hand among them
	excess  uint64 // frames of which more was captured than there was
	inFrame bool   // whether what is in hand is a frame
}

// offset returns the byte of the file at which what is in hand begins.
func (w *window) offset() int64 { return w.base + int64(w.at) }

// need makes sure that n bytes, at most windowSize, are ahead. At the end of the
// file it returns io.EOF, and ErrTruncated where some of the n are left.
func (w *window) need(n int) error {
	if w.end-w.at >= n {
		return nil
	}
	return w.fill(n)
}

// ahead returns all bytes that were read and not taken.
func (w *window) ahead() []byte { return w.buf[w.at:w.end] }

// fill reads until there are n bytes.
func (w *window) fill(n int) error {
	to := w.buf
	if len(to) < windowSize && (n > len(to) || w.base > 0) {
		to = make([]byte, windowSize)
	}
	w.base += int64(w.at)
	w.end = copy(to, w.buf[w.at:w.end])
	w.buf, w.at = to, 0
	for idle := 0; w.end < n && w.err == nil; {
		var got int
		got, w.err = w.src.Read(w.buf[w.end:])
		w.end += got
		if idle++; got > 0 {
			idle = 0
		}
		if idle == 100 && w.err == nil {
			w.err = io.ErrNoProgress
		}
	}
	switch {
	case w.end >= n:
		return nil
	case errors.Is(w.err, io.EOF) && w.end == 0:
		return io.EOF
	case errors.Is(w.err, io.EOF):
		return w.short(int64(w.end), int64(n))
	}
	return w.lost()
}

// skip takes n bytes, however many, without holding them. They are the rest of a
// block that began at start.
func (w *window) skip(start, n int64) error {
	end := w.offset() + n
	for {
		if have := int64(w.end - w.at); n <= have {
			w.at += int(n)
			return nil
		} else if have > 0 {
			w.at, n = w.end, n-have
		}
		err := w.fill(1)
		if errors.Is(err, io.EOF) {
			return &Error{Name: w.name, Offset: start, Err: truncated(w.offset()-start, end-start)}
		}
		if err != nil {
			return err
		}
	}
}

// take makes the next n bytes, needed before, those of the piece behind us.
func (w *window) take(n int) { w.at += n }

// frame notes that what is in hand is a frame.
func (w *window) frame() {
	w.records++
	w.inFrame = true
}

// doubt looks at what a record says of its frame where that is not ordinary, and
// returns how many bytes of it to believe. More captured than there was is cut
// to what there was, as tcpreplay does, and counted.
func (w *window) doubt(have, length uint32) (int, error) {
	if have > MaxFrame || length > maxLength {
		return 0, w.fail(fmt.Errorf("frame of %d bytes, %d of them captured: at most %d can be", length, have, MaxFrame))
	}
	if have <= length {
		return int(have), nil
	}
	w.excess++
	return int(length), nil
}

func (w *window) short(have, need int64) error { return w.fail(truncated(have, need)) }

func truncated(have, need int64) error {
	return fmt.Errorf("%w: have %d of %d bytes", ErrTruncated, have, need)
}

// lost is the failure of what the capture is read from. One that was packed and
// whose packing ends early is a capture that ends early.
func (w *window) lost() error {
	if errors.Is(w.err, io.ErrUnexpectedEOF) {
		return w.fail(fmt.Errorf("%w: the compressed data end early", ErrTruncated))
	}
	return w.fail(cause(w.err))
}

// fail says of err where it is.
func (w *window) fail(err error) error {
	e := &Error{Name: w.name, Offset: w.offset(), Err: err}
	if w.inFrame {
		e.Record = w.records
	}
	return e
}
