package acks

import (
	"cmp"
	"maps"
	"slices"

	"squall/internal/convo"
)

// Config says how DupAcks counts. The zero value means the defaults.
type Config struct {
	Rule Rule
	// AtLeast is the length from which runs are counted apart. Default 10.
	AtLeast int
	// Keep is how many runs are kept one by one; further ones are only counted.
	// Default 1,048,576, of some 200 bytes each.
	Keep int
}

// DupAcks finds runs of duplicate ACKs. Make one with NewDupAcks.
type DupAcks struct {
	config  Config
	pairs   map[*convo.Conversation]*pair
	order   []*pair
	runs    []Run
	more    uint64
	lengths map[uint64]uint64
}

// pair are both ends of a conversation: the client and the server.
type pair struct {
	conversation *convo.Conversation
	ends         [2]end
}

// end is what the capture has shown of one end.
type end struct {
	space space // of its sequence numbers and of the peer's ACKs of them
	sent  int64 // SND.NXT, where seen
	seen  bool  // a segment of it was seen
	scale int   // of its SYN; -1: none seen, or none

	acked    int64   // greatest ACK that it sent
	acks     bool    // acked holds
	window   int64   // of its last ACK, in bytes
	sacked   spans   // of the peer's data
	last     []ident // of its latest segments, in turn
	segments uint64
	run      *Run
	between  uint64 // its other segments since run began
	tshark   tsharkEnd
	findings [findings]uint64
	total    Direction
}

// NewDupAcks returns an empty analysis.
func NewDupAcks(c Config) *DupAcks {
	if c.AtLeast <= 0 {
		c.AtLeast = 10
	}
	if c.Keep <= 0 {
		c.Keep = 1 << 20
	}
	return &DupAcks{config: c, pairs: map[*convo.Conversation]*pair{}, lengths: map[uint64]uint64{}}
}

// Add counts a frame and says what it is. Frames come in the order in which they
// were captured.
func (d *DupAcks) Add(f *Frame) Finding {
	var s segment
	if f.Conversation == nil || !s.read(f) {
		return NoSegment
	}
	p := d.pairs[f.Conversation]
	if p == nil {
		p = &pair{conversation: f.Conversation}
		p.ends[0].scale, p.ends[1].scale = -1, -1
		d.pairs[f.Conversation] = p
		d.order = append(d.order, p)
	}
	from, to := &p.ends[0], &p.ends[1]
	if !f.FromClient {
		from, to = to, from
	}
	finding := d.add(f, &s, from, to)
	from.findings[finding]++
	return finding
}

func (d *DupAcks) add(f *Frame, s *segment, from, to *end) Finding {
	if s.flags&convo.RST != 0 { // its numbers may be anything (RFC 9293 section 3.10.7.1)
		from.between++
		return Control
	}
	if s.flags&convo.SYN != 0 {
		from.scale = s.scale
	}
	finding, window := NoAck, from.advertised(s, to)
	if s.flags&convo.ACK != 0 {
		ack := to.space.at(s.ack)
		sack := from.sackOf(s, ack, to)
		finding = from.judge(s, ack, window, to, sack)
		ends := !from.acks || ack > from.acked
		if d.config.Rule == Tshark {
			finding = from.tshark.judge(s, window, &to.tshark, finding)
			ends = from.tshark.ack != s.ack
		}
		if ends {
			d.end(from)
		}
		if sack.fresh {
			from.total.SACKDuplicates++
		}
		copied := from.copied(s)
		if finding == Duplicate {
			from.repeated(f, s, sack, copied)
		} else {
			from.between++
		}
		from.acknowledged(ack, window, to)
	}
	from.tshark.took(s, window, &to.tshark)
	if next := from.space.at(s.seq) + s.length(); !from.seen || next > from.sent {
		from.sent, from.seen = next, true
	}
	return finding
}

// advertised is the window in bytes: scaled where both ends agreed on it, and
// never in a SYN (RFC 7323 section 2.2).
func (e *end) advertised(s *segment, peer *end) int64 {
	if s.flags&convo.SYN != 0 || e.scale < 0 || peer.scale < 0 {
		return int64(s.window)
	}
	return int64(s.window) << e.scale
}

// judge applies RFC 5681 section 2.
func (e *end) judge(s *segment, ack, window int64, peer *end, sack sackNews) Finding {
	switch {
	case s.flags&(convo.SYN|convo.FIN) != 0: // (c)
		return Control
	case s.n > 0: // (b)
		return Data
	case !e.acks || ack > e.acked: // (d)
		return New
	case ack < e.acked:
		return Older
	case window != e.window: // (e)
		return Window
	case peer.seen && peer.sent <= e.acked && !sack.above: // (a)
		return Settled
	}
	return Duplicate
}

// acknowledged takes note of an ACK that was judged.
func (e *end) acknowledged(ack, window int64, peer *end) {
	e.window = window
	if e.acks && ack <= e.acked {
		return
	}
	if peer.seen && ack > peer.sent {
		e.total.Unseen++
		peer.sent = ack
	}
	e.acked, e.acks = ack, true
	e.sacked.forget(ack)
}

// repeated takes note of a duplicate ACK.
func (e *end) repeated(f *Frame, s *segment, sack sackNews, copied bool) {
	if e.run == nil {
		from, to := f.Conversation.Client, f.Conversation.Server
		if !f.FromClient {
			from, to = to, from
		}
		e.run = &Run{Conversation: f.Conversation.ID, From: name(from), To: name(to), Ack: s.ack, First: s.at}
		e.between = 0
	}
	r := e.run
	r.Length++
	r.Last = s.at
	r.Between = e.between
	if sack.fresh {
		r.NewSACK++
	}
	if sack.dsack {
		r.DSACK++
	}
	if s.window == 0 {
		r.ZeroWindow++
	}
	if copied {
		r.Copies++
		e.total.Copies++
	}
}

// ident tells one transmission from another.
type ident struct {
	id       uint16
	seq, ack uint32
}

// copied reports whether the segment is, by its IPv4 identification, one of the
// latest once more, and remembers it.
func (e *end) copied(s *segment) bool {
	if !s.hasID || s.id == 0 {
		return false
	}
	i := ident{s.id, s.seq, s.ack}
	again := slices.Contains(e.last, i)
	put(&e.last, e.segments, i)
	e.segments++
	return again
}

// end ends the run that e is in, if it is in one.
func (d *DupAcks) end(e *end) {
	if e.run == nil {
		return
	}
	n := e.run.Length
	e.total.Runs++
	e.total.Longest = max(e.total.Longest, n)
	if n >= uint64(d.config.AtLeast) {
		e.total.AtLeast++
	}
	d.lengths[n]++
	if len(d.runs) < d.config.Keep {
		d.runs = append(d.runs, *e.run)
	} else {
		d.more++
	}
	e.run = nil
}

// Report ends what is under way and returns the account. Nothing may be added
// afterwards.
func (d *DupAcks) Report() DupAckReport {
	r := DupAckReport{Rule: d.config.Rule.String(), AtLeast: d.config.AtLeast, Directions: []Direction{}, Lengths: []Bin{}}
	for _, p := range d.order {
		c := p.conversation
		for i, names := range [2][2]string{{name(c.Client), name(c.Server)}, {name(c.Server), name(c.Client)}} {
			e, peer := &p.ends[i], &p.ends[1-i]
			d.end(e)
			t := e.total
			t.Conversation, t.From, t.To = c.ID, names[0], names[1]
			t.OneSided = e.acks && !peer.seen
			t.Findings = e.counts()
			t.DuplicateAcks = t.Findings.Duplicate
			for _, n := range e.findings {
				t.Segments += n
			}
			if t.Segments == 0 {
				continue
			}
			r.Directions = append(r.Directions, t)
			r.Segments += t.Segments
			r.DuplicateAcks += t.DuplicateAcks
			r.RunsAtLeast += t.AtLeast
			r.RunCount += t.Runs
		}
	}
	for _, n := range slices.Sorted(maps.Keys(d.lengths)) {
		r.Lengths = append(r.Lengths, Bin{n, d.lengths[n]})
	}
	r.Runs, r.More = d.runs, d.more
	slices.SortStableFunc(r.Runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.First.NS, b.First.NS), cmp.Compare(a.Conversation, b.Conversation))
	})
	if r.Runs == nil {
		r.Runs = []Run{}
	}
	return r
}

func (e *end) counts() Findings {
	n := &e.findings
	return Findings{NoAck: n[NoAck], Control: n[Control], Data: n[Data], New: n[New], Older: n[Older],
		Window: n[Window], Settled: n[Settled], Duplicate: n[Duplicate], Unlike: n[Unlike]}
}
