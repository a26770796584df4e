package pcaps

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// Reader reads the records of one capture in the order of the file. It holds
// half a mebibyte of it, and what unpacking takes where it is compressed.
type Reader struct {
	file    *os.File // nil where the caller opened it
	win     *window
	pcap    *pcapDecoder // one of the two
	ng      *ngDecoder
	release func() // frees what unpacking takes
	err     error  // what ended the reading
}

// Open opens a capture: a pcap or pcapng file, or one packed with gzip or zstd.
// What it is, is told by its first bytes, not its name. The path "-" is standard
// input.
//
// An error of the content is an *Error that wraps ErrEmptyFile, ErrNotCapture,
// ErrTruncated (within the file header) or ErrUnsupported, or says what is
// wrong.
func Open(path string) (*Reader, error) {
	if path == "-" {
		return NewReader(os.Stdin, "standard input")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("capture %q: %w", path, cause(err))
	}
	r, err := NewReader(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.file = f
	return r, nil
}

// Size returns how many bytes the file has, 0 where that is not known: of a
// pipe, or one that the caller opened. Of a compressed capture it is what the
// file takes, not what it holds.
func (r *Reader) Size() int64 {
	if r.file == nil {
		return 0
	}
	info, err := r.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// NewReader reads a capture from anywhere; name stands for it in errors.
func NewReader(from io.Reader, name string) (*Reader, error) {
	w := &window{name: name, buf: make([]byte, firstWindow)}
	buffered := bufio.NewReaderSize(from, 1<<16)
	if _, err := buffered.Peek(1); errors.Is(err, io.EOF) {
		return nil, w.fail(ErrEmptyFile)
	} else if err != nil {
		return nil, w.fail(cause(err))
	}
	src, release, err := unpack(buffered)
	if err != nil {
		w.err = err
		return nil, w.lost()
	}
	w.src = src
	r := &Reader{win: w, release: release}
	if err := r.begin(); err != nil {
		release()
		return nil, err
	}
	return r, nil
}

// begin tells by the first bytes what reads the rest.
func (r *Reader) begin() (err error) {
	w := r.win
	err = w.need(4)
	switch {
	case err != nil && w.err == io.EOF && w.end == 0: // an empty file, packed
		return w.fail(ErrEmptyFile)
	case err != nil && w.err == io.EOF:
		return w.fail(notCapture(w.ahead()))
	case err != nil:
		return err
	}
	magic := w.ahead()[:4]
	if be.Uint32(magic) == ngSection {
		r.ng = &ngDecoder{window: w}
		return r.ng.section()
	}
	if _, _, ok := isPcap(magic); ok {
		r.pcap, err = newPcap(w)
		return err
	}
	return w.fail(notCapture(magic))
}

func notCapture(magic []byte) error {
	for _, known := range []struct{ magic, what string }{
		{"\x1f\x8b", "gzip in gzip: unpack it once with gunzip first"},
		{"\x28\xb5\x2f\xfd", "zstd in a compressed file: unpack it once first"},
		{"\xfd7zX", "xz-compressed capture: unpack it with unxz first"},
		{"BZh", "bzip2-compressed capture: unpack it with bunzip2 first"},
		{"\x04\x22\x4d\x18", "lz4-compressed capture: unpack it with unlz4 first"},
		{"snoo", "snoop capture: convert it with editcap -F pcap"},
	} {
		if len(magic) >= len(known.magic) && string(magic[:len(known.magic)]) == known.magic {
			return fmt.Errorf("%w: %s", ErrUnsupported, known.what)
		}
	}
	return fmt.Errorf("%w: it begins with %q", ErrNotCapture, magic)
}

// Next returns the next record, whose Data is valid until the next call, and
// io.EOF after the last. Any other error is an *Error: ErrNoRecords where there
// was not one, ErrTruncated where the file ends in mid-record. After an error
// every call returns it again. It does not allocate.
func (r *Reader) Next() (rec Record, err error) {
	switch {
	case r.err != nil:
		return rec, r.err
	case r.pcap != nil:
		err = r.pcap.next(&rec)
	default:
		err = r.ng.next(&rec)
	}
	if err != nil {
		return Record{}, r.ended(err)
	}
	return rec, nil
}

// ended keeps what ended the reading.
func (r *Reader) ended(err error) error {
	if errors.Is(err, io.EOF) && r.win.records == 0 {
		err = r.win.fail(ErrNoRecords)
	}
	r.err = err
	return err
}

// Excess returns how many of the records so far said that more bytes were
// captured than the frame had. Their Data ends where the frame did.
func (r *Reader) Excess() uint64 { return r.win.excess }

// Close closes the file that Open opened and frees what unpacking took.
func (r *Reader) Close() error {
	r.release()
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
