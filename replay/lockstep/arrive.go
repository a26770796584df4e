package lockstep

import (
	"squall/internal/meter"
	"squall/internal/wire"
	"squall/replay/sides"
)

// arrival takes a frame that came to one port.
func (p *play) arrival(at sides.Side, frame []byte, time int64) {
	l := wire.Parse(frame)
	f, seen := p.match(at, frame, l)
	if f == none {
		p.account.Strays[at][l.EtherType]++
		return
	}
	s := p.side[f]
	a := meter.Arrival{Seq: p.seq[f], Size: size(len(frame)), At: time, Sent: p.sentAt[f], HasSent: true}
	if p.out[f] > 0 {
		p.out[f]--
		if old := p.older[f]; p.out[f] > 0 && len(old) > 0 {
			// The copy sent last is taken to be the one that came; the next
			// arrival is the one before it.
			p.seq[f], p.older[f] = old[len(old)-1], old[:len(old)-1]
		}
	}
	if m := p.o.Meters[s]; m != nil {
		m.Add(a)
	}
	p.landed(f, seen)
}

// landed notes that a frame that was waited for is there.
func (p *play) landed(f uint32, seen tuple) {
	c, s := p.conv[f], p.side[f]
	x := &p.convs[c]
	switch p.fate[f] {
	case flying:
		p.flight.remove(f)
	case again: // it stays in line, see skip
	case givenUp:
		p.account.Late++
		return
	default:
		return
	}
	p.fate[f] = arrived
	p.flying[s]--
	x.flying[s]--
	x.arrived++
	if p.learn && !x.learned && x.state == running {
		x.learned, x.seen = true, seen
		p.known[s.Other()][seen] = p.Script.convs[c].flow
		p.opened(c)
	}
	p.advance(c)
}

// match returns which frame of the script has arrived, or none, and, with learn, the
// addresses and ports that it has.
func (p *play) match(at sides.Side, frame []byte, l wire.Layout) (uint32, tuple) {
	if !p.learn {
		if k, ok := p.arrivals[at][wire.Fingerprint(frame)]; ok {
			return p.which(k), tuple{}
		}
		return none, tuple{}
	}
	t, ok := tupleOf(frame, l)
	if !ok {
		return none, t
	}
	what := content(frame, l)
	if flow, known := p.known[at][t]; known {
		if k, ok := p.arrivals[at][keyOf(what, flow)]; ok {
			if f := p.which(k); f != none {
				return f, t
			}
		}
	}
	if k, ok := p.openings[keyOf(what, uint32(at.Other()))]; ok {
		if c := p.opening[k].now; c != none && !p.convs[c].learned {
			f := p.order[p.Script.convs[c].first]
			if p.out[f] > 0 {
				return f, t
			}
		}
	}
	return none, t
}

// which returns the frame of a class that an arrival is: the first that is waited
// for; else the first of which a copy has not arrived; else, for one too many, the
// last that arrived. None where no frame of the class was sent.
func (p *play) which(class uint32) uint32 {
	for f := p.head[class]; f != none && p.done(f) && p.next[f] != none && p.fate[p.next[f]] != idle; f = p.next[f] {
		p.head[class] = p.next[f]
	}
	late, last := uint32(none), uint32(none)
	for f := p.head[class]; f != none; f = p.next[f] {
		switch p.fate[f] {
		case flying, again:
			return f
		case arrived, givenUp:
			last = f
			if late == none && p.out[f] > 0 {
				late = f
			}
		}
	}
	if late != none {
		return late
	}
	return last
}

// done reports whether nothing of a frame can arrive any more.
func (p *play) done(f uint32) bool {
	switch p.fate[f] {
	case arrived, givenUp:
		return p.out[f] == 0
	}
	return p.fate[f] == unsent
}
