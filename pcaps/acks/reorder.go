package acks

import (
	"cmp"
	"slices"

	"squall/internal/convo"
	"squall/internal/meter"
	"squall/internal/wire"
)

// maxStreams bounds how many tagged streams are told apart: a tag's magic has 16
// bits, so one foreign frame in 65,536 seems to have one.
const maxStreams = 256

// Reorder measures the order of the segments of each TCP direction, and of the
// frames of each squall stream that is not TCP, by their tags. Make one with
// NewReorder.
type Reorder struct {
	pairs   map[*convo.Conversation]*orderPair
	order   []*orderPair
	streams map[streamKey]*meter.Stream
	beyond  uint64
}

type streamKey struct{ run, stream uint16 }

type orderPair struct {
	conversation *convo.Conversation
	trip         trip
	ends         [2]orderEnd
}

// trip measures the round trip from the opening: from SYN to SYN-ACK and from
// there to the ACK, one trip as the tap sees it.
type trip struct {
	syn, rtt int64
	state    uint8 // 0: nothing, 1: SYN, 2: rtt holds
}

func (t *trip) segment(s *segment, fromClient bool) {
	if !s.at.Known {
		return
	}
	switch {
	case fromClient && s.flags&(convo.SYN|convo.ACK) == convo.SYN:
		t.syn, t.state = s.at.NS, 1
	case fromClient && t.state == 1 && s.flags&(convo.SYN|convo.ACK) == convo.ACK && s.at.NS > t.syn:
		t.rtt, t.state = s.at.NS-t.syn, 2
	}
}

// NewReorder returns an empty analysis.
func NewReorder() *Reorder {
	return &Reorder{pairs: map[*convo.Conversation]*orderPair{}, streams: map[streamKey]*meter.Stream{}}
}

// Add counts a frame. Frames come in the order in which they were captured.
func (r *Reorder) Add(f *Frame) {
	if f.Packet.Proto != convo.TCP {
		r.tagged(f)
		return
	}
	var s segment
	if f.Conversation == nil || !s.read(f) {
		return
	}
	p := r.pairs[f.Conversation]
	if p == nil {
		p = &orderPair{conversation: f.Conversation}
		r.pairs[f.Conversation] = p
		r.order = append(r.order, p)
	}
	p.trip.segment(&s, f.FromClient)
	if s.flags&convo.RST != 0 || s.length() == 0 {
		return
	}
	e := &p.ends[0]
	if !f.FromClient {
		e = &p.ends[1]
	}
	rtt := int64(0)
	if p.trip.state == 2 {
		rtt = p.trip.rtt
	}
	e.segment(&s, rtt)
}

// tagged counts a frame of a squall stream.
func (r *Reorder) tagged(f *Frame) {
	if len(f.Data) < f.Len {
		return // the tag is at the end, which was not captured
	}
	t, ok := wire.FindTag(f.Data)
	if !ok {
		return
	}
	key := streamKey{t.Run, t.Stream}
	s := r.streams[key]
	if s == nil {
		if len(r.streams) == maxStreams {
			r.beyond++
			return
		}
		s, _ = meter.NewStream(meter.Config{Stream: t.Stream, Window: 1 << 14}) // in range
		r.streams[key] = s
	}
	s.Add(meter.Arrival{Stream: t.Stream, Seq: t.Seq, Size: max(f.Len, wire.MinLen) + wire.FCSLen, At: f.At.NS})
}

// Report returns the account. Nothing may be added afterwards.
func (r *Reorder) Report() ReorderReport {
	report := ReorderReport{Directions: []Order{}, Streams: []StreamOrder{}, BeyondStreams: r.beyond}
	for _, p := range r.order {
		c := p.conversation
		for i, names := range [2][2]string{{name(c.Client), name(c.Server)}, {name(c.Server), name(c.Client)}} {
			if e := &p.ends[i]; e.Segments > 0 {
				o := e.report()
				o.Conversation, o.From, o.To = c.ID, names[0], names[1]
				report.Directions = append(report.Directions, o)
			}
		}
	}
	for key, s := range r.streams {
		m := meter.Total(s)
		if m.Received < 2 {
			report.SingleTags++
			continue
		}
		o := StreamOrder{Run: key.run, Stream: key.stream, Received: m.Received, Duplicated: m.Duplicated,
			Missing: m.Missing + m.Lost, Late: m.Late, Reordered: m.Reordered, Extent: m.Reordering.Extent,
			LateTime: m.Reordering.LateTime, NReordered: m.DupAcks.NReordered}
		o.Ratio = float64(o.Reordered) / float64(o.Received)
		report.Streams = append(report.Streams, o)
	}
	slices.SortFunc(report.Streams, func(a, b StreamOrder) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Stream, b.Stream))
	})
	return report
}
