package lockstep

import (
	"squall/internal/port"
	"squall/internal/wire"
)

// fate is what has become of a frame in this pass.
type fate uint8

const (
	idle    fate = iota
	flying       // sent, and waited for
	again        // to be sent again
	arrived      // in time
	givenUp
	unsent // its conversation was abandoned
)

// state is how a conversation does.
type state uint8

const (
	waiting state = iota // for the one before it in its flow, or to open
	running
	complete
	incomplete
	abandoned
)

// progress is how far a conversation has come.
type progress struct {
	state  state
	queued bool // in ready
	// learned: seen has the addresses and ports that the opener's frames arrive
	// with.
	learned bool
	seen    tuple
	next    uint32    // how many frames have left
	flying  [2]uint32 // how many are under way from each side
	arrived uint32
	lost    uint32 // given up
	held    uint32 // that the port did not take when it failed
	firstAt uint32 // the first that was lost
	behind  uint32 // the next one that waits for the opening
}

// opening is a turn to open a conversation, taken by one of those whose first frames
// are alike.
type opening struct{ now, first, last uint32 }

// play is a script being played.
type play struct {
	*Script
	ends     [2]End
	o        Options
	clock    func() int64
	start    int64
	interval int64 // between two tries of a frame, ns

	pass    uint64
	counted bool // the pass is in the account
	convs   []progress
	opening []opening
	known   [2]map[tuple]uint32 // flows by what arrives at each side, with learn
	active  int                 // conversations that are not at their end
	ready   [2]ready
	again   [2]line
	flying  [2]int // under way from each side, those to be sent again among them
	flight  flight
	turn    int

	fate   []fate
	tries  []uint8
	out    []uint8  // copies that have not arrived
	sentAt []int64  // of the last copy, CLOCK_MONOTONIC ns
	seq    []uint64 // of the last copy
	older  map[uint32][]uint64
	head   []uint32 // of each class, the first frame that may still arrive

	batch   []uint32
	retries [2]uint64 // of the writers when it began
	account Account
}

func newPlay(s *Script, ends [2]End, o Options, clock func() int64) *play {
	n := s.frames.Len()
	p := &play{
		Script: s, ends: ends, o: o, clock: clock, start: clock(),
		interval: int64(o.GiveUp) / int64(o.Retries+1),
		convs:    make([]progress, len(s.convs)),
		opening:  make([]opening, s.opening),
		flight:   newFlight(n),
		fate:     make([]fate, n),
		tries:    make([]uint8, n),
		out:      make([]uint8, n),
		sentAt:   make([]int64, n),
		seq:      make([]uint64, n),
		older:    make(map[uint32][]uint64),
		head:     make([]uint32, len(s.classes)),
		counted:  true,
	}
	for k := range p.ends {
		p.ready[k] = ready{play: p, convs: make([]uint32, 0, len(s.convs))}
		p.again[k] = newLine(o.Window)
		p.known[k] = make(map[tuple]uint32)
		p.account.Strays[k] = make(map[uint16]uint64)
		p.account.Sent[k] = port.Sent{Start: p.start, End: p.start}
		p.retries[k] = ends[k].W.Retries()
	}
	p.batch = make([]uint32, 0, max(ends[0].W.BatchSize(), ends[1].W.BatchSize()))
	return p
}

// begin sets everything to the beginning of a pass.
func (p *play) begin(pass uint64) {
	p.pass, p.counted, p.active = pass, false, len(p.convs)
	clear(p.convs)
	clear(p.fate)
	clear(p.tries)
	clear(p.out)
	clear(p.older)
	copy(p.head, p.classes)
	for k := range p.opening {
		p.opening[k] = opening{none, none, none}
	}
	for k := range p.ready {
		p.ready[k].convs = p.ready[k].convs[:0]
		p.again[k].clear()
	}
	for c := range p.convs {
		p.convs[c].firstAt = none
		if !p.Script.convs[c].after {
			p.admit(uint32(c))
		}
	}
}

// admit lets a conversation begin, when its turn to open comes.
func (p *play) admit(c uint32) {
	k := p.Script.convs[c].opens
	if k == none {
		p.launch(c)
		return
	}
	turn := &p.opening[k]
	if turn.now == none {
		turn.now = c
		p.launch(c)
		return
	}
	p.convs[c].behind = none
	if turn.last == none {
		turn.first = c
	} else {
		p.convs[turn.last].behind = c
	}
	turn.last = c
}

func (p *play) launch(c uint32) {
	p.convs[c].state = running
	if s := &p.Script.convs[c]; p.learn {
		p.known[s.opener][s.from.reply()] = s.flow
	}
	p.advance(c)
}

// opened gives the turn to open to the next conversation.
func (p *play) opened(c uint32) {
	k := p.Script.convs[c].opens
	if k == none || p.opening[k].now != c {
		return
	}
	turn := &p.opening[k]
	next := turn.first
	turn.now = next
	if next == none {
		return
	}
	if turn.first = p.convs[next].behind; turn.first == none {
		turn.last = none
	}
	p.launch(next)
}

// nextFrame returns the frame that the conversation sends next.
func (p *play) nextFrame(c uint32) uint32 {
	return p.order[p.Script.convs[c].first+p.convs[c].next]
}

// advance queues a conversation whose next frame may leave, and ends one that is
// over.
func (p *play) advance(c uint32) {
	x := &p.convs[c]
	if x.state != running || x.queued {
		return
	}
	if x.next == p.Script.convs[c].frames {
		if x.flying[0]+x.flying[1] == 0 {
			end := complete
			if x.lost > 0 {
				end = incomplete
			}
			p.finish(c, end)
		}
		return
	}
	f := p.nextFrame(c)
	s := p.side[f]
	if x.flying[s.Other()] > 0 || p.learn && !x.learned && x.next > 0 {
		return
	}
	x.queued = true
	p.ready[s].add(c)
}

// finish ends a conversation; the next one of its flow may begin.
func (p *play) finish(c uint32, as state) {
	x, s := &p.convs[c], &p.Script.convs[c]
	x.state = as
	p.active--
	for _, f := range p.order[s.first+x.next : s.first+s.frames] {
		p.fate[f] = unsent
	}
	p.opened(c)
	if s.then != none {
		p.admit(s.then)
	}
}

// expire deals with the frames that have been under way for too long at time now.
func (p *play) expire(now int64) {
	for f := p.flight.first; f != none && now-p.sentAt[f] >= p.interval; f = p.flight.first {
		p.flight.remove(f)
		c, s := p.conv[f], p.side[f]
		if p.convs[c].state == running && int(p.tries[f]) <= p.o.Retries {
			p.fate[f] = again
			p.again[s].push(f)
			continue
		}
		p.giveUp(f)
	}
}

func (p *play) giveUp(f uint32) {
	c, s := p.conv[f], p.side[f]
	x := &p.convs[c]
	p.fate[f] = givenUp
	p.flying[s]--
	x.flying[s]--
	x.lost++
	if x.firstAt == none {
		x.firstAt = f
	}
	if x.state != running {
		return
	}
	if !p.o.GoOn || p.learn && !x.learned {
		p.finish(c, abandoned)
		return
	}
	p.advance(c)
}

// size is a frame's size on the wire.
func size(n int) int { return max(n, wire.MinLen) + wire.FCSLen }

// line is a queue of frames, of a fixed length.
type line struct {
	frames   []uint32
	at, size int
}

func newLine(n int) line { return line{frames: make([]uint32, n)} }

func (l *line) clear() { l.at, l.size = 0, 0 }

func (l *line) push(f uint32) {
	l.frames[(l.at+l.size)%len(l.frames)] = f
	l.size++
}

func (l *line) pop() uint32 {
	f := l.frames[l.at]
	l.at = (l.at + 1) % len(l.frames)
	l.size--
	return f
}
