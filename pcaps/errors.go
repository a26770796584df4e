package pcaps

import (
	"errors"
	"fmt"
)

// Kinds of errors, for errors.Is.
var (
	// ErrEmptyFile: the file has no bytes.
	ErrEmptyFile = errors.New("the file is empty; need a pcap or pcapng capture")
	// ErrNotCapture: the file begins like neither pcap nor pcapng.
	ErrNotCapture = errors.New("no pcap or pcapng capture")
	// ErrNoRecords: a sound capture without a single frame.
	ErrNoRecords = errors.New("the capture holds no frames")
	// ErrTruncated: the file ends within a record. The records before it are
	// sound: a caller may go on with them and warn.
	ErrTruncated = errors.New("the file ends within this record")
	// ErrUnsupported: a sound file of a kind that is not read.
	ErrUnsupported = errors.New("not supported")
	// ErrLinkType: a frame of a link type, or of a protocol in it, that Ethernet
	// does not carry. Of a Reframer; the capture is sound.
	ErrLinkType = errors.New("cannot be sent on Ethernet")
)

// Error is an error of a capture's content.
type Error struct {
	Name   string // of the file
	Record uint64 // number of the frame from 1, as tshark counts; 0: outside of any
	Offset int64  // byte at which the record, block or header begins
	Err    error
}

func (e *Error) Error() string {
	if e.Record == 0 {
		return fmt.Sprintf("capture %q: at byte %d: %v", e.Name, e.Offset, e.Err)
	}
	return fmt.Sprintf("capture %q: record %d at byte %d: %v", e.Name, e.Record, e.Offset, e.Err)
}

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }
