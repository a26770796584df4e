package survey

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"squall/pcaps"
)

// File is what a capture file is.
type File struct {
	Path        string `json:"capture"`
	Format      string `json:"format"`                // pcap or pcapng
	Version     string `json:"version"`               // of the format
	Resolution  string `json:"resolution"`            // of time stamps: us or ns; "" in pcapng, where each interface has its own
	ByteOrder   string `json:"byte_order"`            // little or big: of the first section in pcapng
	SnapLen     int    `json:"snap_length,omitempty"` // bytes, as a pcap header says; 0: none
	Compression string `json:"compression"`
	Bytes       int64  `json:"file_bytes"` // 0 where that is not known: of a pipe
	// EndedEarly says where the file ends in mid-record; what was before it counts.
	EndedEarly string `json:"ended_early,omitempty"`
}

// Read surveys a capture file; "-" is standard input. A file that ends in mid-record
// is no error, unless it has no whole one.
func Read(ctx context.Context, path string, o Options) (f File, rep *Report, err error) {
	f.Path = path
	in, name := os.Stdin, "standard input"
	if path != "-" {
		if in, err = os.Open(path); err != nil {
			return f, nil, fmt.Errorf("capture %q: %w", path, errors.Unwrap(err))
		}
		defer in.Close()
		name = path
	}
	if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
		f.Bytes = info.Size()
	}
	buffered := bufio.NewReaderSize(in, 1<<18) // which pcaps.NewReader takes as it is
	f.head(buffered)
	r, err := pcaps.NewReader(buffered, name)
	if err != nil {
		return f, nil, err
	}
	defer r.Close()
	s := New(o)
	for {
		rec, err := r.Next()
		switch {
		case err == nil:
			s.Add(&rec)
			if s.frames%4096 == 0 && ctx.Err() != nil {
				return f, nil, errors.New("reading the capture: stopped")
			}
			continue
		case errors.Is(err, io.EOF) || errors.Is(err, pcaps.ErrNoRecords):
		case errors.Is(err, pcaps.ErrTruncated) && s.frames > 0:
			f.EndedEarly = err.Error()
		default:
			return f, nil, err
		}
		return f, s.Report(), nil
	}
}

// head looks at the first bytes, which stay unread.
func (f *File) head(r *bufio.Reader) {
	b, _ := r.Peek(24)
	f.Compression = pcaps.Plain.String()
	switch {
	case bytes.HasPrefix(b, []byte("\x1f\x8b")):
		f.Compression = pcaps.Gzip.String()
		b, _ = r.Peek(1 << 12)
		if z, err := gzip.NewReader(bytes.NewReader(b)); err == nil {
			b = first(z)
		}
	case bytes.HasPrefix(b, []byte("\x28\xb5\x2f\xfd")):
		f.Compression = pcaps.Zstd.String()
		b, _ = r.Peek(1<<17 + 1<<10) // the largest block (RFC 8878 section 3.1.1.2.4), and headers
		if z, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1)); err == nil {
			b = first(z)
			z.Close()
		}
	}
	if len(b) >= 24 {
		f.format(b)
	}
}

// first returns as much of the first 24 bytes as there are.
func first(r io.Reader) []byte {
	b := make([]byte, 24)
	n, _ := io.ReadFull(r, b)
	return b[:n]
}

// format reads the head of a pcap file (draft-ietf-opsawg-pcap section 4) or of a
// pcapng section (draft-ietf-opsawg-pcapng section 4.1), of 24 bytes at least.
func (f *File) format(b []byte) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		name := "little"
		if order == binary.BigEndian {
			name = "big"
		}
		version := func(at int) string { return fmt.Sprintf("%d.%d", order.Uint16(b[at:]), order.Uint16(b[at+2:])) }
		switch magic := order.Uint32(b); {
		case magic == 0xa1b2c3d4 || magic == 0xa1b2cd34 || magic == 0xa1b23c4d:
			f.Format, f.Version, f.Resolution, f.ByteOrder = "pcap", version(4), "us", name
			if magic == 0xa1b23c4d {
				f.Resolution = "ns"
			}
			f.SnapLen = int(order.Uint32(b[16:]))
		case magic == 0x0a0d0d0a && order.Uint32(b[8:]) == 0x1a2b3c4d:
			f.Format, f.Version, f.ByteOrder = "pcapng", version(12), name
		default:
			continue
		}
		return
	}
}
