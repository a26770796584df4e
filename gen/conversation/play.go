package conversation

import (
	"fmt"
	"math/rand/v2"
)

// Made says what a conversation came to.
type Made struct {
	Frames        uint64 // seen by the tap
	Data          uint64 // data segments that the sender sent, each once more where sent again
	Bytes         uint64 // of data, each counted once
	Acks          uint64 // by the receiver without data, SYN or FIN
	Duplicates    uint64 // of them, duplicate
	Retransmitted uint64 // data segments sent again
	Runs          int
	First, Last   int64 // times of the first and the last frame, ns since 1970
}

// Frames plays the conversation and hands each frame that the tap sees to emit,
// without FCS, with its time in ns since 1970, in order of time. It ends with
// emit's first error.
func (c *Conversation) Frames(emit func(frame []byte, at int64) error) (Made, error) {
	p := newPlay(c)
	p.handshake()
	for {
		e, ok := p.pop()
		if !ok {
			return p.made, nil
		}
		switch e.kind {
		case seen:
			if p.made.Frames == 0 {
				p.made.First = e.at
			}
			p.made.Frames++
			p.made.Last = e.at
			if err := emit(p.frames.frame(&e.seg), e.at); err != nil {
				return p.made, err
			}
		case received:
			p.receiver.arrived(p, e.at, &e.seg)
		case answered:
			p.sender.arrived(p, e.at, &e.seg)
		case slot:
			if err := p.sender.slot(p, e.at); err != nil {
				return p.made, err
			}
		}
	}
}

// play is the state of one conversation: the path is its queue of events.
type play struct {
	*Conversation
	events
	frames   *frames
	sender   sender
	receiver receiver
	made     Made

	start       int64 // of the client's SYN
	there, back int64 // ns from sender to receiver, and back
	tapped      int64 // ns from the sender to the tap
	tappedBack  int64 // ns from the receiver to the tap
	ids         [2]uint16
	clocks      [2]uint32 // timestamps at 1970, of client and server
}

func newPlay(c *Conversation) *play {
	r := rand.New(rand.NewPCG(c.Seed, 0x73717561_6c6c0001))
	p := &play{Conversation: c, frames: newFrames(c, r)}
	p.ids = [2]uint16{uint16(r.Uint32()), uint16(r.Uint32())}
	p.clocks = [2]uint32{r.Uint32(), r.Uint32()}
	p.there = int64(c.RTT) / 2
	p.back = int64(c.RTT) - p.there
	switch {
	case c.Tap == Middle:
		p.tapped, p.tappedBack = p.there/2, p.back/2
	case (c.Tap == AtClient) == c.ClientSends: // at the sender
		p.tappedBack = p.back
	default:
		p.tapped = p.there
	}
	p.start = c.Start - p.toTap(true)
	return p
}

// toTap is the time from an end to the tap.
func (p *play) toTap(client bool) int64 {
	if client == p.ClientSends {
		return p.tapped
	}
	return p.tappedBack
}

// stamp completes a segment at the time when it is made.
func (p *play) stamp(s *segment, now int64) {
	i := 1
	if s.client {
		i = 0
	}
	s.id = p.ids[i]
	p.ids[i]++
	s.tsval = p.clocks[i] + uint32(now/1e6)
}

// handshake plays the opening and gives the sender its first slot.
func (p *play) handshake() {
	there, back := p.there, p.back // of the client's segments and the server's
	if !p.ClientSends {
		there, back = back, there
	}
	open := segment{client: true, flags: syn}
	p.stamp(&open, p.start)
	p.push(p.start+p.toTap(true), seen, open)

	now := p.start + there + turn
	accept := segment{flags: syn | ack, ack: 1, tsecr: open.tsval}
	p.stamp(&accept, now)
	p.push(now+p.toTap(false), seen, accept)

	now += back + turn
	last := segment{client: true, flags: ack, seq: 1, ack: 1, tsecr: accept.tsval}
	p.stamp(&last, now)
	p.push(now+p.toTap(true), seen, last)

	if p.ClientSends {
		p.sender.recent, p.receiver.recent = accept.tsval, last.tsval
	} else {
		now += there
		p.sender.recent, p.receiver.recent = last.tsval, accept.tsval
	}
	p.sender.begin(now + turn)
	p.receiver.begin()
	p.push(p.sender.first, slot, segment{})
}

// lengthOf run i.
func (c *Conversation) lengthOf(i int) int { return c.Lengths[i%len(c.Lengths)] }

// receiver acknowledges.
type receiver struct {
	next        uint64 // RCV.NXT
	left, right uint64 // what came behind the hole, if right is not 0
	pending     int    // segments that no ACK was sent for
	acked       uint64 // Last.ACK.sent
	recent      uint32 // TS.Recent
}

func (r *receiver) begin() { r.next, r.acked = 1, 1 }

func (r *receiver) arrived(p *play, now int64, s *segment) {
	if s.seq <= r.acked && int32(s.tsval-r.recent) >= 0 { // RFC 7323 section 4.3 (2)
		r.recent = s.tsval
	}
	switch {
	case s.flags&fin != 0:
		r.next = s.end()
		r.answer(p, now, fin|ack)
	case s.flags&psh == 0 && s.n == 0: // the ACK of our FIN
	case s.seq > r.next:
		if r.right == 0 {
			r.left = s.seq
		}
		r.right = s.end()
		p.made.Duplicates++
		r.answer(p, now, ack)
	default:
		r.next = s.end()
		r.pending++
		if r.right != 0 { // the hole is filled
			r.next, r.left, r.right = r.right, 0, 0
			r.pending = 2
		}
		if r.pending == 2 || p.spacing() >= delayedAck {
			r.answer(p, now, ack)
		}
	}
}

func (r *receiver) answer(p *play, now int64, flags uint8) {
	r.pending, r.acked = 0, r.next
	s := segment{client: !p.ClientSends, flags: flags, seq: 1, ack: r.next, left: r.left, right: r.right, tsecr: r.recent}
	now += turn
	p.stamp(&s, now)
	if flags == ack {
		p.made.Acks++
	}
	p.push(now+p.toTap(s.client), seen, s)
	p.push(now+p.back, answered, s)
}

// errUnlike is what New makes impossible: run came to be unlike what was asked.
func errUnlike(run int, why string) error {
	return fmt.Errorf("run %d of duplicate ACKs: %s", run, why)
}
