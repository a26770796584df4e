package pcaps

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// zstdWindow bounds the memory that unpacking takes, in bytes: what zstd(1)
// unpacks without being asked for more (--long=27).
const zstdWindow = 1 << 27

// unpack returns the contents of a gzip or zstd stream, or the stream itself
// where it is neither, and what frees the memory that it takes.
func unpack(r *bufio.Reader) (io.Reader, func(), error) {
	magic, _ := r.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte("\x1f\x8b")): // RFC 1952, section 2.3.1
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return &unpacked{z, "gzip"}, func() {}, nil
	case len(magic) == 4 && (string(magic) == "\x28\xb5\x2f\xfd" || magic[0]&0xf0 == 0x50 && string(magic[1:]) == "\x2a\x4d\x18"):
		// RFC 8878, sections 3.1.1 and 3.1.2; pzstd begins with a frame to skip.
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return &unpacked{z, "zstd"}, z.Close, nil
	}
	return r, func() {}, nil
}

// unpacked says of a failing stream what it was.
type unpacked struct {
	io.Reader
	kind string
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("unpacking %s: %w", u.kind, err)
	}
	return n, err
}
