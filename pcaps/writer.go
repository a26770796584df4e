package pcaps

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// Writer writes a pcap file of Ethernet frames with nanosecond time stamps.
//
// It writes a file beside the one that was asked for and gives it the right name
// in Close, so that whatever goes wrong leaves what was there before. A path
// that is there and no regular file (/dev/null, a pipe) is written to directly.
type Writer struct {
	path, temp string // temp is "" where path is written to directly
	file       *os.File
	buf        *bufio.Writer
	pcap       *pcapgo.Writer
	err        error // the first error; sticks
}

// Create begins a capture. Call Close to keep it or Abort to drop it; Abort
// after Close does nothing, so it may be deferred.
func Create(path string) (*Writer, error) {
	w := &Writer{path: path}
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
	w.pcap = pcapgo.NewWriterNanos(w.buf)
	if err := w.pcap.WriteFileHeader(maxFrame, layers.LinkTypeEthernet); err != nil {
		w.Abort()
		return nil, fmt.Errorf("capture %q: %w", path, cause(err))
	}
	return w, nil
}

// Write adds a frame of 14 to 262,144 bytes without FCS, captured at the time
// at: ns since 1970, before 2106 (a pcap file has 32 bits for the seconds).
// After an error the capture is lost: every call returns the error again.
func (w *Writer) Write(frame []byte, at int64) error {
	if w.err != nil {
		return w.err
	}
	switch seconds := at / int64(time.Second); {
	case at < 0 || seconds > 1<<32-1:
		w.err = fmt.Errorf("capture %q: time of %d ns is outside of the years 1970 to 2106", w.path, at)
	case len(frame) < 14 || len(frame) > maxFrame:
		w.err = fmt.Errorf("capture %q: frame of %d bytes, need 14 to %d", w.path, len(frame), maxFrame)
	default:
		info := gopacket.CaptureInfo{Timestamp: time.Unix(0, at), CaptureLength: len(frame), Length: len(frame)}
		if err := w.pcap.WritePacket(info, frame); err != nil {
			w.err = fmt.Errorf("capture %q: %w", w.path, cause(err))
		}
	}
	return w.err
}

// Close finishes the file and gives it its name. Where that or an earlier Write
// went wrong it drops the file and returns the error.
func (w *Writer) Close() error {
	if w.file == nil {
		return w.err
	}
	err := w.err
	if err == nil {
		err = w.buf.Flush()
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
