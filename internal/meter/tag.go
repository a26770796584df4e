package meter

import "squall/internal/wire"

// A Match says what a recogniser made of a frame.
type Match uint8

const (
	Stray   Match = iota // nothing that squall sent, as far as this recogniser can tell
	Foreign              // a squall frame of another run
	Ours                 // a frame of this run: its Arrival holds
)

// TagMatcher recognises frames by their tag.
type TagMatcher struct {
	Run uint16 // the run id in the tags of this run
}

// Match returns the arrival of a frame that came at that time (CLOCK_MONOTONIC
// ns).
func (m TagMatcher) Match(frame []byte, at int64) (Arrival, Match) {
	tag, ok := wire.FindTag(frame)
	switch {
	case !ok:
		return Arrival{}, Stray
	case tag.Run != m.Run:
		return Arrival{}, Foreign
	}
	return Arrival{
		Stream:  tag.Stream,
		Seq:     tag.Seq,
		Size:    size(frame),
		Sent:    tag.Sent,
		HasSent: true,
		At:      at,
	}, Ours
}

// size returns a frame's size on the wire: padded where it is shorter than
// Ethernet carries, and with FCS.
func size(frame []byte) int { return max(len(frame), wire.MinLen) + wire.FCSLen }
