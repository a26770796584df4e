package ledger

import (
	"squall/internal/meter"
	"squall/internal/probe"
)

// Term is a number of frames with a name: lost where a counter saw it.
type Term struct {
	Where   string `json:"where"`
	Counter string `json:"counter"`
	Frames  uint64 `json:"frames"`
	// Also are other counters that saw the same event, not summed.
	Also []Seen `json:"also,omitempty"`
}

// Seen is what a counter that is not summed has counted.
type Seen struct {
	Where   string `json:"where"`
	Counter string `json:"counter"`
	Moved   uint64 `json:"moved"`
	Note    string `json:"note,omitempty"`
}

// Ledger is the balance of one pair of ports: Sent = Received + the named
// frames + Unexplained.
type Ledger struct {
	Sent        uint64 `json:"sent"`
	Received    uint64 `json:"received"` // each frame once; duplicates are not in it
	Named       []Term `json:"named"`
	Unexplained int64  `json:"unexplained"` // below 0: more was named than is missing
	// Gaps say between which hops frames went missing, where some are
	// unexplained.
	Gaps []Gap `json:"gaps,omitempty"`
	// Moved are counters that moved and are part of no named loss.
	Moved []Seen `json:"moved,omitempty"`
}

// Gap is a stretch of the way on which packet counters lose frames that no
// counter names. From and To are counters, as "lab-r:in rx_packets".
type Gap struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Before uint64 `json:"before"`
	After  uint64 `json:"after"`
	Named  uint64 `json:"named"`
}

// Missing is how many frames the gap leaves without a name.
func (g Gap) Missing() int64 { return int64(g.Before) - int64(g.After) - int64(g.Named) }

// Late is the counter of frames that came so late that the meter no longer knew
// whether it had seen them: it counts them as lost until they are named here.
// More than are missing were duplicates.
const Late = "meter.late"

// NoReceiver names all frames of a run that has a sender only.
const NoReceiver = "no receiver (--rx)"

// Input is what a balance is made of.
type Input struct {
	Sent    uint64
	Way     []Hop
	Changes []probe.Change
	// Streams are the meter's accounts; nil where there is no receiver.
	Streams []meter.Report
	// Foreign are frames that the receiver took and that another run sent.
	Foreign uint64
	// Receiver is the port that frames were received on; empty: none.
	Receiver string
}

// Balance makes the ledger.
func Balance(in Input) Ledger {
	l := Ledger{Sent: in.Sent, Named: []Term{}}
	var late uint64
	for _, s := range in.Streams {
		l.Received += s.Received
		late += s.Late
	}
	moved := make(map[View]uint64, len(in.Changes))
	for _, c := range in.Changes {
		if !c.Level {
			moved[view(c)] += c.Moved
		}
	}
	ps := points(in.Way)
	losses := make([]loss, len(ps))
	missing := int64(l.Sent) - int64(l.Received)
	name := func(most uint64) uint64 {
		n := min(most, uint64(max(missing, 0)))
		missing -= int64(n)
		return n
	}
	for i, p := range ps {
		losses[i] = p.count(moved)
		if !p.doubtful {
			missing -= int64(losses[i].frames)
		}
	}
	late = name(late)
	for i, p := range ps {
		if p.doubtful {
			losses[i].frames = name(losses[i].frames)
		}
		if losses[i].frames > 0 {
			l.Named = append(l.Named, losses[i].term())
		}
	}
	if late > 0 {
		l.Named = append(l.Named, Term{Where: in.Receiver, Counter: Late, Frames: late})
	}
	if in.Receiver == "" && missing > 0 {
		l.Named = append(l.Named, Term{Where: "squall", Counter: NoReceiver, Frames: name(in.Sent)})
	}
	l.Unexplained = missing
	if l.Unexplained != 0 {
		l.Gaps = gaps(in, moved, losses)
	}
	l.Moved = l.others(in)
	return l
}

// others returns the counters that moved and that no term has, but for those
// that move with every frame.
func (l *Ledger) others(in Input) []Seen {
	told := make(map[View]bool)
	for _, h := range in.Way {
		if h.Metered {
			told[View{h.Where, xdpDrops}] = true
		}
	}
	for _, t := range l.Named {
		told[View{t.Where, t.Counter}] = true
		for _, s := range t.Also {
			told[View{s.Where, s.Counter}] = true
		}
	}
	var others []Seen
	for _, c := range in.Changes {
		if c.Moved != 0 && !told[view(c)] && !traffic(c.Name) {
			others = append(others, Seen{Where: c.Where, Counter: c.Name, Moved: c.Moved, Note: string(c.Note)})
		}
	}
	return others
}

// loss is what a point has counted.
type loss struct {
	view   View
	frames uint64
	also   []Seen
}

// count sums the first view that moved by more than what was not lost.
func (p point) count(moved map[View]uint64) loss {
	var x loss
	less := p.less + moved[p.other]
	for _, v := range p.views {
		n := moved[v]
		if n > less && x.frames == 0 {
			x.view, x.frames = v, n-less
		} else {
			x.saw(v, n)
		}
	}
	for _, v := range p.also {
		x.saw(v, moved[v])
	}
	return x
}

func (x *loss) saw(v View, n uint64) {
	if n > 0 {
		x.also = append(x.also, Seen{Where: v.Where, Counter: v.Counter, Moved: n})
	}
}

func (x loss) term() Term {
	return Term{Where: x.view.Where, Counter: x.view.Counter, Frames: x.frames, Also: x.also}
}
