package lockstep

import (
	"net/netip"

	"squall/internal/port"
)

// Account is what became of a script. Its conversations are those that began, of
// all passes, and its frames are theirs:
//
//	Conversations = Complete + Incomplete + Abandoned
//	Frames        = Arrived + GivenUp + Unsent
type Account struct {
	Conversations uint64
	Complete      uint64 // every frame arrived
	Incomplete    uint64 // went on without some of them, or the run was stopped
	Abandoned     uint64 // ended where a frame was given up

	Frames  uint64 // of the conversations that began
	Arrived uint64 // in time, each once
	GivenUp uint64 // sent, and had not arrived when the wait was over
	Unsent  uint64 // behind one given up, or the run was stopped
	Late    uint64 // arrived all the same after they were given up
	Retries uint64 // how often frames were sent again

	// Translated conversations arrived with other addresses or ports than they
	// were sent with.
	Translated uint64
	// Broken are the first conversations that are not complete.
	Broken []Broken

	// Sent is what left from each side, retries included.
	Sent [2]port.Sent
	// Strays are frames that arrived at each side and are none of the script's, by
	// EtherType.
	Strays [2]map[uint16]uint64
}

// BrokenKept bounds Account.Broken.
const BrokenKept = 64

// Broken is a conversation that did not come to its end, or not whole.
type Broken struct {
	ID             int // number in the capture, from 0
	Proto          uint8
	Client, Server netip.AddrPort // as captured
	Abandoned      bool
	Frames         uint64 // of the whole conversation
	Arrived        uint64
	GivenUp        uint64
	// At is the number in the plan, from 0, of the first frame that was given up,
	// or else of the first that was not sent.
	At uint64
}

// close ends the account.
func (p *play) close() *Account {
	p.count()
	a := &p.account
	for k := range a.Sent {
		a.Sent[k].Retries = p.ends[k].W.Retries() - p.retries[k]
	}
	return a
}

// count enters the pass into the account.
func (p *play) count() {
	if p.counted {
		return
	}
	p.counted = true
	a := &p.account
	for c := range p.convs {
		x, s := &p.convs[c], &p.Script.convs[c]
		if x.next == 0 {
			continue // it never began
		}
		a.Conversations++
		a.Frames += uint64(s.frames)
		a.Arrived += uint64(x.arrived)
		a.Unsent += uint64(s.frames - x.next + x.held)
		a.GivenUp += uint64(x.next - x.held - x.arrived)
		if x.learned && x.seen != s.from {
			a.Translated++
		}
		switch x.state {
		case complete:
			a.Complete++
			continue
		case abandoned:
			a.Abandoned++
		default:
			a.Incomplete++
		}
		if len(a.Broken) < BrokenKept {
			a.Broken = append(a.Broken, p.broken(uint32(c)))
		}
	}
}

func (p *play) broken(c uint32) Broken {
	x, s := &p.convs[c], &p.Script.convs[c]
	b := Broken{
		ID: s.id, Proto: s.proto, Client: s.client, Server: s.server, Abandoned: x.state == abandoned,
		Frames: uint64(s.frames), Arrived: uint64(x.arrived), GivenUp: uint64(x.next - x.held - x.arrived),
	}
	switch {
	case x.firstAt != none:
		b.At = uint64(p.number[x.firstAt])
	case x.next < s.frames:
		b.At = uint64(p.number[p.nextFrame(c)])
	}
	return b
}
