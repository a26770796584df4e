package acks

import (
	"context"
	"errors"
	"io"

	"squall/internal/convo"
	"squall/pcaps"
)

// Frame is a captured frame, and whose it is.
type Frame struct {
	Number       uint64 // in the capture, from 1
	Data         []byte // from the destination MAC address on; valid until the next frame
	Len          int    // on the wire, bytes
	At           Time
	Packet       *convo.Packet
	Conversation *convo.Conversation // nil: no IP packet
	FromClient   bool
}

// Walked is what Walk came past.
type Walked struct {
	Frames    uint64 `json:"frames"`
	NoIP      uint64 `json:"not_ip"`
	NotTCP    uint64 `json:"not_tcp"`     // IP, but not TCP
	Fragments uint64 `json:"fragments"`   // of IP packets: looked at no further
	Foreign   uint64 `json:"link_type"`   // of a link type or protocol that cannot be read
	NoTime    uint64 `json:"time_errors"` // frames without a sound time, looked at all the same
	Untracked uint64 `json:"untracked"`   // frames of conversations beyond the table's most
	Truncated bool   `json:"truncated"`   // the file ends in mid-record: what was before it counts
}

// Walk reads a capture to its end and shows every IP packet to visit, with its
// conversation. Only the Reader's errors end it, but for ErrTruncated.
func Walk(ctx context.Context, r *pcaps.Reader, o convo.Options, visit func(*Frame)) (w Walked, _ error) {
	var (
		shape pcaps.Reframer
		p     convo.Packet
		f     = Frame{Packet: &p}
	)
	table := convo.NewTable(o)
	defer func() { w.Untracked = table.Untracked }()
	for {
		rec, err := r.Next()
		switch {
		case err == io.EOF:
			return w, nil
		case errors.Is(err, pcaps.ErrTruncated):
			w.Truncated = true
			return w, nil
		case err != nil:
			return w, err
		}
		w.Frames++
		if w.Frames%4096 == 0 && ctx.Err() != nil {
			return w, errors.New("reading the capture: stopped")
		}
		frame, length, _, no := shape.Frame(rec)
		if no != nil {
			w.Foreign++
			continue
		}
		if !p.Decode(frame) {
			w.NoIP++
			continue
		}
		f.At = Time{rec.Time, rec.Clock == pcaps.ClockSound}
		if !f.At.Known {
			w.NoTime++
		}
		switch {
		case p.Fragment:
			w.Fragments++
		case p.Proto != convo.TCP:
			w.NotTCP++
		}
		f.Number, f.Data, f.Len = w.Frames, frame, length
		f.Conversation, f.FromClient = table.Find(&p)
		visit(&f)
	}
}
