package meter

import (
	"fmt"

	"squall/internal/wire"
)

// IDMatcher recognises frames that have no room for a tag: by their tuple, and
// by their IPv4 identification, which holds the low 16 bits of the frame's
// number in its flow. The full number is the one nearest to the flow's newest
// (RFC 1982 section 3.2 with SERIAL_BITS 16): right as long as fewer than 32,768
// frames in a row of one flow are lost, and none comes later than that.
//
// Nothing may run while Add does; Match belongs to one goroutine.
type IDMatcher struct {
	seq   func(stream uint16, flow uint32, n uint64) uint64
	byKey map[uint64]uint32 // wire.FlowKey to an index in flows
	flows []idFlow
}

type idFlow struct {
	next   uint64 // highest number seen + 1
	flow   uint32
	stream uint16
}

// NewIDMatcher returns a matcher without flows. seq returns the sequence number
// in its stream of a flow's frame n, from 0; it must not allocate.
func NewIDMatcher(seq func(stream uint16, flow uint32, n uint64) uint64) *IDMatcher {
	return &IDMatcher{seq: seq, byKey: make(map[uint64]uint32)}
}

// Interleaved returns the seq function of streams that send one frame of each
// of their flows in turn: frame n of flow f is number n*flows+f.
func Interleaved(flows uint32) func(stream uint16, flow uint32, n uint64) uint64 {
	return func(_ uint16, flow uint32, n uint64) uint64 { return n*uint64(flows) + uint64(flow) }
}

// Add registers the flow that frame, as it will arrive, belongs to. It fails
// for a frame without IPv4 and where another flow has the same tuple.
func (m *IDMatcher) Add(frame []byte, stream uint16, flow uint32) error {
	l := wire.Parse(frame)
	if _, ok := wire.ID(frame, l); !ok {
		return fmt.Errorf("matching stream %d, flow %d by identification: have EtherType %#04x, need IPv4", stream, flow, l.EtherType)
	}
	key, _ := wire.FlowKey(frame, l)
	if i, ok := m.byKey[key]; ok {
		f := m.flows[i]
		return fmt.Errorf("matching stream %d, flow %d by identification: its addresses and ports are those of stream %d, flow %d", stream, flow, f.stream, f.flow)
	}
	m.byKey[key] = uint32(len(m.flows))
	m.flows = append(m.flows, idFlow{stream: stream, flow: flow})
	return nil
}

// Match returns the arrival, without a send time, of a frame that came at that
// time (CLOCK_MONOTONIC ns).
func (m *IDMatcher) Match(frame []byte, at int64) (Arrival, Match) {
	l := wire.Parse(frame)
	id, ok := wire.ID(frame, l)
	if !ok {
		return Arrival{}, Stray
	}
	key, _ := wire.FlowKey(frame, l)
	i, ok := m.byKey[key]
	if !ok {
		return Arrival{}, Stray
	}
	f := &m.flows[i]
	n := unwrap(f.next, id)
	f.next = max(f.next, n+1)
	return Arrival{Stream: f.stream, Seq: m.seq(f.stream, f.flow, n), Size: size(frame), At: at}, Ours
}

// unwrap returns the number nearest to next that ends in the 16 bits low; on a
// tie the smaller, and never one below 0.
func unwrap(next uint64, low uint16) uint64 {
	d := int64(int16(low - uint16(next)))
	if d < 0 && uint64(-d) > next {
		d += 1 << 16
	}
	return next + uint64(d)
}
