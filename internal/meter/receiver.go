package meter

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"squall/internal/wire"
)

// ReceiverConfig says which frames a Receiver takes for which streams.
type ReceiverConfig struct {
	Run     uint16          // the run id in this run's tags
	Streams []*Stream       // by their Config.Stream, which must differ
	IDs     *IDMatcher      // for frames without room for a tag; nil: none
	Content *ContentMatcher // for replays; nil: none
}

// A Receiver recognises frames and counts each on its stream's account, or as
// one that is not for it. Every frame it is given is counted exactly once.
type Receiver struct {
	tags    TagMatcher
	ids     *IDMatcher
	content *ContentMatcher
	streams []*Stream // by stream number; nil where there is none

	frames, misdirected, foreign atomic.Uint64
	strays                       strays
}

// NewReceiver returns a receiver. It fails where two streams have one number.
func NewReceiver(c ReceiverConfig) (*Receiver, error) {
	r := &Receiver{tags: TagMatcher{Run: c.Run}, ids: c.IDs, content: c.Content}
	for _, s := range c.Streams {
		id := int(s.config.Stream)
		if id >= len(r.streams) {
			r.streams = append(r.streams, make([]*Stream, id+1-len(r.streams))...)
		}
		if r.streams[id] != nil {
			return nil, fmt.Errorf("receiver: two streams have the number %d", id)
		}
		r.streams[id] = s
	}
	return r, nil
}

// Frame counts a frame (without FCS) that arrived at that time (CLOCK_MONOTONIC
// ns), and says what it was. It keeps no reference to the frame.
//
// Another run's tag is believed last. A replayed capture may hold such frames,
// and in a frame without room for a tag a header may look like one: among 65,536
// tunnels, each with another checksum where the tag would be, about one does.
func (r *Receiver) Frame(frame []byte, at int64) Match {
	r.frames.Add(1)
	a, match := r.tags.Match(frame, at)
	foreign := match == Foreign
	if match != Ours && r.ids != nil {
		a, match = r.ids.Match(frame, at)
	}
	if match != Ours && r.content != nil {
		a, match = r.content.Match(frame, at)
	}
	switch {
	case match == Ours:
		r.count(a)
		return Ours
	case foreign:
		r.foreign.Add(1)
		return Foreign
	}
	r.strays.add(etherType(frame))
	return Stray
}

func (r *Receiver) count(a Arrival) {
	if int(a.Stream) < len(r.streams) && r.streams[a.Stream] != nil {
		r.streams[a.Stream].Add(a)
		return
	}
	r.misdirected.Add(1)
}

// Apart is what a receiver saw that is on no stream's account.
type Apart struct {
	Frames      uint64       `json:"frames"`      // all frames it saw, those of its streams among them
	Misdirected uint64       `json:"misdirected"` // this run's, of streams that are not expected here
	Foreign     uint64       `json:"foreign"`     // another run's
	Stray       uint64       `json:"stray"`       // nobody's: ARP, ND, LLDP
	Strays      []StrayCount `json:"strays"`      // the strays by EtherType, in order of appearance
}

// StrayCount is the number of strays of one kind.
type StrayCount struct {
	// EtherType after any VLAN tags. 0 stands for frames without one: IEEE 802.3
	// with a length (spanning tree), shorter than a header, or of a kind beyond
	// the 32 that are told apart.
	EtherType uint16 `json:"ethertype"`
	Frames    uint64 `json:"frames"`
}

// Apart returns these counters. Any goroutine may call it at any time.
func (r *Receiver) Apart() Apart {
	a := Apart{
		Frames:      r.frames.Load(),
		Misdirected: r.misdirected.Load(),
		Foreign:     r.foreign.Load(),
		Strays:      r.strays.list(),
	}
	for _, s := range a.Strays {
		a.Stray += s.Frames
	}
	return a
}

// etherType returns a frame's EtherType, 0 where it has none: values below
// 0x600 are lengths (IEEE 802.3 section 3.2.6).
func etherType(frame []byte) uint16 {
	l := wire.Parse(frame)
	if l.L3 == 0 || binary.BigEndian.Uint16(frame[l.L3-2:]) < 0x600 {
		return 0
	}
	return l.EtherType
}

// strays counts frames by EtherType in fixed memory. One goroutine adds.
type strays struct {
	kinds [32]struct{ etherType, frames atomic.Uint64 }
	used  atomic.Uint64
	other atomic.Uint64
}

func (s *strays) add(etherType uint16) {
	used := s.used.Load()
	for i := range used {
		if s.kinds[i].etherType.Load() == uint64(etherType) {
			s.kinds[i].frames.Add(1)
			return
		}
	}
	if etherType == 0 || used == uint64(len(s.kinds)) {
		s.other.Add(1)
		return
	}
	s.kinds[used].etherType.Store(uint64(etherType))
	s.kinds[used].frames.Store(1)
	s.used.Store(used + 1)
}

func (s *strays) list() []StrayCount {
	var list []StrayCount
	for i := range s.used.Load() {
		k := &s.kinds[i]
		list = append(list, StrayCount{EtherType: uint16(k.etherType.Load()), Frames: k.frames.Load()})
	}
	if n := s.other.Load(); n != 0 {
		list = append(list, StrayCount{Frames: n})
	}
	return list
}
