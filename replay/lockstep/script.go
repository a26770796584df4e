package lockstep

import (
	"errors"
	"fmt"
	"math"
	"net/netip"

	"squall/internal/convo"
	"squall/internal/plan"
	"squall/internal/wire"
	"squall/replay/sides"
)

// none is no frame, conversation or class.
const none = math.MaxUint32

// Script is a capture as lockstep plays it.
type Script struct {
	frames plan.Table // with their MAC addresses
	number []uint32   // of each frame in the plan, which has pass of them
	pass   uint64
	side   []sides.Side
	conv   []uint32 // which conversation
	// Frames alike in content, of one direction and flow, are a class: next has
	// for each frame the one behind it in its class.
	class, next []uint32
	classes     []uint32             // first frame
	arrivals    [2]map[uint64]uint32 // classes by key, of what arrives at each side
	// order has the frames of each conversation in a row.
	order []uint32
	convs []conversation
	learn bool
	// openings has the classes of first frames by their content alone.
	openings map[uint64]uint32
	opening  int // how many
	flows    int

	Left LeftOut
}

// LeftOut counts the frames that a Script does not play.
type LeftOut struct {
	NoIP       uint64 // without IP, or not to be made sense of
	Fragments  uint64 // with learn
	ICMPErrors uint64 // with learn
}

// Frames is their sum.
func (l LeftOut) Frames() uint64 { return l.NoIP + l.Fragments + l.ICMPErrors }

// conversation is one conversation of a script.
type conversation struct {
	id     int
	proto  uint8
	opener sides.Side // of its first frame
	flow   uint32     // of its addresses and ports
	first  uint32     // place in order
	frames uint32
	client netip.AddrPort
	server netip.AddrPort
	from   tuple  // of the opener's frames, as captured
	opens  uint32 // opening, with learn
	after  bool   // there is one before it in its flow
	then   uint32 // the next conversation of the flow
}

// tuple is the addresses and ports of a frame.
type tuple struct {
	src, dst netip.AddrPort
	proto    uint8
}

func (t tuple) reply() tuple { return tuple{t.dst, t.src, t.proto} }

// Compile makes a script of the plan of a capture (one stream, whole frames). With
// learn it follows a NAT. It needs some 70 bytes a frame beyond the frames
// themselves.
func Compile(p *plan.Plan, o sides.Options, learn bool) (*Script, error) {
	if len(p.Streams) != 1 || p.Pass == 0 {
		return nil, errors.New("lockstep: need the plan of a capture")
	}
	if p.Pass >= none {
		return nil, fmt.Errorf("lockstep: have %d frames, at most %d fit", p.Pass, uint32(none))
	}
	s := &Script{pass: p.Pass, learn: learn, openings: make(map[uint64]uint32)}
	s.arrivals = [2]map[uint64]uint32{{}, {}}
	b := builder{Script: s, sorter: sides.NewSorter(o.ClientNet), convOf: map[int]uint32{}, flowOf: map[tuple]uint32{}, lastOf: map[uint32]uint32{}}
	frame := make([]byte, p.MaxLen())
	for i := range p.Pass {
		f := frame[:p.Write(frame, i, 0)]
		if b.add(f) {
			o.MACs[s.side[len(s.side)-1]].Put(f)
			s.frames.Append(f)
			s.number = append(s.number, uint32(i))
		}
	}
	if s.frames.Len() == 0 {
		return nil, fmt.Errorf("lockstep: no frame to play: %d without IP, %d fragments and %d ICMP errors left out", s.Left.NoIP, s.Left.Fragments, s.Left.ICMPErrors)
	}
	b.lay()
	return s, nil
}

// Frames returns how many frames the script plays, Conversations in how many
// conversations.
func (s *Script) Frames() int        { return s.frames.Len() }
func (s *Script) Conversations() int { return len(s.convs) }

// Side returns how many frames leave from a side.
func (s *Script) Side(of sides.Side) (n int) {
	for _, x := range s.side {
		if x == of {
			n++
		}
	}
	return n
}

// builder makes a Script.
type builder struct {
	*Script
	sorter *sides.Sorter
	convOf map[int]uint32    // conversation of a convo ID
	flowOf map[tuple]uint32  // either way round
	lastOf map[uint32]uint32 // newest conversation of a flow
	tail   []uint32          // last frame of each class
}

// add enters a frame and reports whether it is played.
func (b *builder) add(f []byte) bool {
	at := b.sorter.Sort(f)
	if at.Conversation == nil {
		b.Left.NoIP++
		return false
	}
	l := wire.Parse(f)
	t, ok := tupleOf(f, l)
	switch {
	case !ok:
		b.Left.NoIP++
		return false
	case b.learn && l.Fragment:
		b.Left.Fragments++
		return false
	case b.learn && icmpError(f, l):
		b.Left.ICMPErrors++
		return false
	}
	i := uint32(len(b.conv))
	c, known := b.convOf[at.Conversation.ID]
	if !known {
		c = b.open(at, t)
	}
	b.convs[c].frames++
	b.conv = append(b.conv, c)
	b.side = append(b.side, at.Side)

	key := wire.Fingerprint(f)
	if b.learn {
		key = keyOf(content(f, l), b.convs[c].flow)
		if !known {
			b.convs[c].opens = b.openingOf(content(f, l), at.Side)
		}
	}
	k, known := b.arrivals[at.Side.Other()][key]
	b.next = append(b.next, none)
	if known {
		b.next[b.tail[k]] = i
		b.tail[k] = i
	} else {
		k = uint32(len(b.classes))
		b.classes, b.tail = append(b.classes, i), append(b.tail, i)
		b.arrivals[at.Side.Other()][key] = k
	}
	b.class = append(b.class, k)
	return true
}

// open enters the conversation of a frame, its first.
func (b *builder) open(at sides.Place, t tuple) uint32 {
	c := uint32(len(b.convs))
	b.convOf[at.Conversation.ID] = c
	flow, known := b.flowOf[t]
	if known {
		b.convs[b.lastOf[flow]].then = c
	} else {
		flow = uint32(b.flows)
		b.flows++
		b.flowOf[t], b.flowOf[t.reply()] = flow, flow
	}
	b.lastOf[flow] = c
	b.convs = append(b.convs, conversation{
		id: at.Conversation.ID, proto: t.proto, opener: at.Side, flow: flow, from: t, then: none, opens: none,
		client: addrPort(at.Conversation.Client), server: addrPort(at.Conversation.Server),
		after: known,
	})
	return c
}

// openingOf returns the opening of first frames with that content.
func (b *builder) openingOf(content uint64, from sides.Side) uint32 {
	key := keyOf(content, uint32(from))
	k, ok := b.openings[key]
	if !ok {
		k = uint32(b.opening)
		b.openings[key] = k
		b.opening++
	}
	return k
}

// lay puts the frames of each conversation in a row.
func (b *builder) lay() {
	b.order = make([]uint32, len(b.conv))
	var at uint32
	for c := range b.convs {
		b.convs[c].first = at
		at += b.convs[c].frames
	}
	fill := make([]uint32, len(b.convs))
	for i, c := range b.conv {
		b.order[b.convs[c].first+fill[c]] = uint32(i)
		fill[c]++
	}
}

func addrPort(e convo.Endpoint) netip.AddrPort { return netip.AddrPortFrom(e.Addr, e.Port) }
