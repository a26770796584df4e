package pcaps

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxFrame is the longest frame that is believed, in bytes: libpcap's
// MAXIMUM_SNAPLEN (pcap-int.h).
const maxFrame = 262144

// cutter hands a capture to pcapgo piece by piece: a file header, a record or a
// block at a time, never more than one ahead, so that it can say where pcapgo
// stands. Pieces that are not sound never reach it.
type cutter struct {
	name string
	r    *bufio.Reader
	next func() error // puts the next piece into buf

	buf     []byte
	unread  []byte // of buf
	offset  int64  // where the piece in buf begins
	end     int64  // how far the file was read
	records uint64 // pieces that were frames, the one in buf among them
	record  bool   // whether the piece in hand is a frame
	link    LinkType
	err     error
}

// Read gives out the rest of the piece in hand, or the next piece.
func (c *cutter) Read(p []byte) (int, error) {
	if len(c.unread) == 0 && c.err == nil {
		c.buf, c.offset, c.record = c.buf[:0], c.end, false
		c.err = c.next()
		c.unread = c.buf
	}
	if c.err != nil {
		return 0, c.err
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// take reads n more bytes into buf and returns them. At the end of the file it
// returns io.EOF between two pieces and ErrTruncated within one.
func (c *cutter) take(n int) ([]byte, error) {
	have := len(c.buf)
	if want := have + n; want > cap(c.buf) {
		c.buf = append(make([]byte, 0, 2*want), c.buf...)
	}
	c.buf = c.buf[:have+n]
	got, err := io.ReadFull(c.r, c.buf[have:])
	c.end += int64(got)
	switch {
	case err == nil:
		return c.buf[have:], nil
	case errors.Is(err, io.EOF) && have == 0: // not one byte
		return nil, io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, c.fail(fmt.Errorf("%w: have %d of %d bytes", ErrTruncated, have+got, have+n))
	}
	return nil, c.fail(err)
}

// drop reads and forgets n bytes of a piece that pcapgo need not see.
func (c *cutter) drop(n int64) error {
	got, err := io.CopyN(io.Discard, c.r, n)
	c.end += got
	if errors.Is(err, io.EOF) {
		return c.fail(fmt.Errorf("%w: have %d of %d bytes", ErrTruncated, c.end-c.offset, c.end-c.offset-got+n))
	}
	if err != nil {
		return c.fail(err)
	}
	return nil
}

// frame notes that the piece in hand is a frame.
func (c *cutter) frame() {
	c.records++
	c.record = true
}

// lengths checks what a record says of its frame.
func (c *cutter) lengths(have, length uint32) error {
	if have > maxFrame || length > 1<<31-1 {
		return c.fail(fmt.Errorf("frame of %d bytes, %d of them captured: at most %d can be", length, have, maxFrame))
	}
	if have > length {
		return c.fail(fmt.Errorf("%d bytes captured of a frame of %d: the record contradicts itself", have, length))
	}
	return nil
}

func (c *cutter) fail(err error) error {
	e := &Error{Name: c.name, Offset: c.offset, Err: err}
	if c.record {
		e.Record = c.records
	}
	return e
}

// wrap says where pcapgo stood when it returned err, if err does not say so.
func (c *cutter) wrap(err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return err
	}
	return c.fail(err)
}
