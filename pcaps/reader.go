package pcaps

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcapgo"
)

// Reader reads the records of one capture in the order of the file.
type Reader struct {
	file *os.File // nil where the caller opened it
	cut  *cutter
	from interface {
		ReadPacketData() ([]byte, gopacket.CaptureInfo, error)
	}
	err error // what ended the reading
}

// Open opens a capture. What it is, is told by its first bytes, not its name.
// An error of the content is an *Error that wraps ErrEmptyFile, ErrNotCapture,
// ErrTruncated (within the file header) or ErrUnsupported, or says what is
// wrong.
func Open(path string) (*Reader, error) {
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

// Size returns how many bytes the capture has, 0 where that is not known: of a
// pipe, or one that the caller opened.
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
	c := &cutter{name: name, r: bufio.NewReaderSize(from, 1<<16)}
	magic, err := c.r.Peek(4)
	switch {
	case len(magic) == 0 && errors.Is(err, io.EOF):
		return nil, c.fail(ErrEmptyFile)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, c.fail(err)
	case len(magic) < 4:
		return nil, c.fail(notCapture(magic))
	}
	switch binary.BigEndian.Uint32(magic) {
	case ngSection: // reads the same in either byte order
		c.next = (&ngCutter{cutter: c}).block
		r, err := pcapgo.NewNgReader(c, pcapgo.NgReaderOptions{WantMixedLinkType: true})
		if err != nil {
			return nil, c.wrap(err)
		}
		return &Reader{cut: c, from: r}, nil
	case pcapMicros, pcapNanos, pcapMicrosLittle, pcapNanosLittle:
		c.next = (&pcapCutter{cutter: c}).header
		r, err := pcapgo.NewReader(c)
		if err != nil {
			return nil, c.wrap(err)
		}
		// What libpcap does: the snap length of the header is often wrong.
		r.SetSnaplen(maxFrame)
		return &Reader{cut: c, from: r}, nil
	}
	return nil, c.fail(notCapture(magic))
}

func notCapture(magic []byte) error {
	with := func(what string) error { return fmt.Errorf("%w: %s", ErrUnsupported, what) }
	for _, known := range []struct{ magic, what string }{
		{"\x1f\x8b", "gzip-compressed capture: unpack it with gunzip first"},
		{"\x28\xb5\x2f\xfd", "zstd-compressed capture: unpack it with unzstd first"},
		{"\xfd7zX", "xz-compressed capture: unpack it with unxz first"},
		{"\xa1\xb2\xcd\x34", "modified pcap format (Kuznetzov's): convert it with editcap -F pcap"},
		{"\x34\xcd\xb2\xa1", "modified pcap format (Kuznetzov's): convert it with editcap -F pcap"},
		{"snoo", "snoop capture: convert it with editcap -F pcap"},
	} {
		if len(magic) >= len(known.magic) && string(magic[:len(known.magic)]) == known.magic {
			return with(known.what)
		}
	}
	return fmt.Errorf("%w: it begins with %q", ErrNotCapture, magic)
}

// Next returns the next record, and io.EOF after the last. Any other error is
// an *Error: ErrNoRecords where there was not one, ErrTruncated where the file
// ends in mid-record. After an error every call returns it again.
func (r *Reader) Next() (Record, error) {
	if r.err != nil {
		return Record{}, r.err
	}
	data, info, err := r.from.ReadPacketData()
	switch {
	case errors.Is(err, io.EOF) && r.cut.records == 0:
		r.err = r.cut.fail(ErrNoRecords)
	case errors.Is(err, io.EOF):
		r.err = io.EOF
	case err != nil:
		r.err = r.cut.wrap(err)
	}
	if r.err != nil {
		return Record{}, r.err
	}
	return Record{
		Data: data, Len: info.Length, Time: info.Timestamp.UnixNano(),
		LinkType: r.cut.link, Interface: info.InterfaceIndex,
	}, nil
}

// Close closes the file that Open opened.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
