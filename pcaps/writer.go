package pcaps

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Writer writes a capture.
//
// It writes a file beside the one that was asked for and gives it the right name
// in Close, so that whatever goes wrong leaves what was there before. A path
// that is there and no regular file (/dev/null, a pipe) is written to directly.
type Writer struct {
	path, temp string // temp is "" where path is written to directly
	file       *os.File
	packer     io.WriteCloser // nil where nothing is packed
	buf        *bufio.Writer
	enc        encoder
	err        error // the first error; sticks
}

// Create begins a pcap file of Ethernet frames with nanosecond time stamps.
func Create(path string) (*Writer, error) { return CreateAs(path, Format{}) }

// CreateAs begins a capture. Call Close to keep it or Abort to drop it; Abort
// after Close does nothing, so it may be deferred.
func CreateAs(path string, f Format) (*Writer, error) {
	if f.SnapLen < 0 || f.SnapLen > MaxFrame {
		return nil, fmt.Errorf("capture %q: snap length of %d bytes, need 1 to %d", path, f.SnapLen, MaxFrame)
	}
	if f.LinkType == 0 {
		f.LinkType = Ethernet
	}
	w := &Writer{path: path, enc: encoder{format: f}}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		w.path = target // replace what a link points to, not the link
	}
	info, err := os.Stat(w.path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("capture %q: it is a directory; name a file", path)
	case err == nil && !info.Mode().IsRegular():
		w.file, err = os.OpenFile(w.path, os.O_WRONLY, 0)
	default:
		w.temp = fmt.Sprintf("%s.%08x.part", w.path, rand.Uint32())
		w.file, err = os.OpenFile(w.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	}
	if err != nil {
		return nil, fmt.Errorf("capture %q: %w", path, cause(err))
	}
	w.buf = bufio.NewWriterSize(w.file, 1<<18)
	switch f.Compression {
	case Gzip:
		w.packer = gzip.NewWriter(w.file)
	case Zstd:
		// Without goroutines, so that an Abort leaves none behind.
		if w.packer, err = zstd.NewWriter(w.file, zstd.WithEncoderConcurrency(1)); err != nil {
			w.Abort()
			return nil, fmt.Errorf("capture %q: %w", path, err)
		}
	}
	if w.packer != nil {
		w.buf.Reset(w.packer)
	}
	return w, nil
}

// Write adds a whole frame of 14 bytes or more without FCS, captured at the time
// at: ns since 1970, up to Container.Last. After an error the capture is lost:
// every call returns the error again.
func (w *Writer) Write(frame []byte, at int64) error { return w.WriteCut(frame, len(frame), at) }

// WriteCut adds what there is of a frame that had length bytes.
func (w *Writer) WriteCut(frame []byte, length int, at int64) error {
	if w.err == nil && (len(frame) < etherLen || len(frame) > MaxFrame) {
		w.err = fmt.Errorf("capture %q: frame of %d bytes, need %d to %d", w.path, len(frame), etherLen, MaxFrame)
	}
	return w.WriteRecord(Record{Data: frame, Len: length, Time: at, LinkType: w.enc.format.LinkType})
}

// WriteRecord adds a record as it is, with its own link type and, in a pcapng
// file, as a frame of an interface that stands for its own: the first record of
// each has the interface described. A pcap file has the link type of its first
// record, and takes no other. The clock is not looked at.
func (w *Writer) WriteRecord(r Record) error {
	if w.err == nil {
		if err := w.record(r); err != nil {
			w.err = fmt.Errorf("capture %q: %w", w.path, cause(err))
		}
	}
	return w.err
}

func (w *Writer) record(r Record) error {
	switch {
	case r.Time < 0 || r.Time > w.enc.format.Container.Last():
		return fmt.Errorf("time of %d ns is outside of the years 1970 to %s", r.Time, w.enc.format.Container.until())
	case r.Len < len(r.Data) || r.Len > 1<<31-1:
		return fmt.Errorf("frame of %d bytes, %d of them captured", r.Len, len(r.Data))
	}
	r.Data = r.Data[:min(len(r.Data), w.enc.snap())]
	if err := w.begin(r.LinkType); err != nil {
		return err
	}
	head, tail, err := w.enc.record(r)
	if err != nil {
		return err
	}
	for _, b := range [...][]byte{head, r.Data, tail} {
		if _, err := w.buf.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// begin writes the file header, if that was not done.
func (w *Writer) begin(link LinkType) error {
	if w.enc.begun {
		return nil
	}
	_, err := w.buf.Write(w.enc.begin(link))
	return err
}

// Close finishes the file and gives it its name. Where that or an earlier Write
// went wrong it drops the file and returns the error.
func (w *Writer) Close() error {
	if w.file == nil {
		return w.err
	}
	err := w.err
	if err == nil {
		err = w.begin(w.enc.format.LinkType) // of a capture without a frame
	}
	if err == nil {
		err = w.buf.Flush()
	}
	if err == nil && w.packer != nil {
		err = w.packer.Close()
	}
	if e := w.file.Close(); err == nil {
		err = e
	}
	w.file = nil
	if err == nil && w.temp != "" {
		err = os.Rename(w.temp, w.path)
	}
	if err == nil {
		return nil
	}
	w.remove()
	if w.err == nil {
		w.err = fmt.Errorf("capture %q: %w", w.path, cause(err))
	}
	return w.err
}

// Abort drops the file.
func (w *Writer) Abort() {
	if w.file == nil {
		return
	}
	w.file.Close()
	w.file = nil
	w.remove()
	if w.err == nil {
		w.err = fmt.Errorf("capture %q: dropped", w.path)
	}
}

func (w *Writer) remove() {
	if w.temp != "" {
		os.Remove(w.temp)
	}
}

// cause strips the path that os puts into its errors: the caller has named it.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
