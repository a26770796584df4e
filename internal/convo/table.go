package convo

import "net/netip"

// DefaultMax is how many conversations a Table keeps unless told otherwise. Each
// takes 128 bytes and 11 to 22 of the index: some 600 MB in all.
const DefaultMax = 4 << 20

// Options say how conversations are told apart.
type Options struct {
	// ClientNet are the networks that clients are in; empty: whoever opened the
	// conversation is the client.
	ClientNet []netip.Prefix
	// Max bounds the conversations kept; 0: DefaultMax.
	Max int
}

// Conversation is what two ends have to say to each other.
type Conversation struct {
	ID     int // from 0, in order of first appearance
	Proto  uint8
	Client Endpoint
	Server Endpoint

	// What Find looks at stands together, in one cache line.
	key          key
	isn          uint32 // the client's initial sequence number, where opened
	clientSecond bool   // the client is the key's second end
	state        state
}

// state is what was seen of a TCP connection.
type state uint8

const (
	opened    state                   = 1 << iota // it began with a SYN or with the answer to one
	more                                          // something else than SYNs came
	finClient                                     // a FIN of the client,
	finServer                                     // of the server;
	closed    = finClient | finServer             // a RST counts as both
)

// Table finds conversations.
type Table struct {
	// Untracked counts frames of conversations beyond Options.Max.
	Untracked uint64

	o         Options
	index     []slot // open addressing, a power of two
	n         int    // conversations
	used      int    // slots
	chunks    [][]Conversation
	fragments map[fragment]*Conversation
}

// slot is a place of the index: a part of the key's hash that did not choose the
// place, and which conversation it is.
type slot struct {
	mark uint32
	id   uint32 // from 1; 0: free
}

const chunk = 256 // conversations

// fragment is what the fragments of one packet have in common.
type fragment struct {
	addr     [2][2]uint64
	proto    uint16
	id       uint32
	backward bool
}

// fragmentsKept bounds the packets whose fragments are under way; beyond it all are
// forgotten.
const fragmentsKept = 1 << 14

// NewTable returns an empty table.
func NewTable(o Options) *Table {
	if o.Max <= 0 {
		o.Max = DefaultMax
	}
	return &Table{o: o, index: make([]slot, 1<<10)}
}

// Len returns how many conversations were found.
func (t *Table) Len() int { return t.n }

// At returns the conversation of an ID below Len.
func (t *Table) At(id int) *Conversation { return &t.chunks[id/chunk][id%chunk] }

// Conversations returns all that were found, by ID, in a new slice.
func (t *Table) Conversations() []*Conversation {
	all := make([]*Conversation, t.n)
	for i := range all {
		all[i] = t.At(i)
	}
	return all
}

// Find returns the conversation of a packet that Decode found to be one, and whether
// its client sent it. It returns nil for one of a new conversation beyond
// Options.Max, which Untracked counts.
func (t *Table) Find(p *Packet) (c *Conversation, fromClient bool) {
	if p.Offset > 0 {
		if c := t.fragments[fragmentOf(p)]; c != nil {
			return c, c.clientSecond == p.backward
		}
	}
	hash := p.key.hash()
	s := t.slot(hash, &p.key)
	if s.id != 0 {
		c = t.At(int(s.id - 1))
	}
	if p.IsTCP() {
		syn := p.Flags&(SYN|ACK|RST|FIN) == SYN
		if c == nil || syn && c.again(p) {
			c = t.open(s, hash, p)
		}
		if c == nil {
			return nil, false
		}
		if fromClient = c.clientSecond == p.backward; !syn {
			c.see(p.Flags, fromClient)
		}
	} else if c == nil {
		if c = t.open(s, hash, p); c == nil {
			return nil, false
		}
	}
	if p.Fragment && p.Offset == 0 {
		t.keep(p, c)
	}
	return c, c.clientSecond == p.backward
}

// see notes the flags of a segment that is no SYN.
func (c *Conversation) see(flags uint8, fromClient bool) {
	now := c.state | more
	switch {
	case flags&RST != 0:
		now |= closed
	case flags&FIN != 0 && fromClient:
		now |= finClient
	case flags&FIN != 0:
		now |= finServer
	}
	if now != c.state {
		c.state = now
	}
}

// again reports whether a SYN begins another conversation of the same ends. One that
// comes from the server before anything else is a simultaneous open, RFC 9293
// section 3.5.
func (c *Conversation) again(syn *Packet) bool {
	switch {
	case c.state&opened == 0 || c.state&closed == closed:
		return true
	case c.clientSecond != syn.backward && c.state&more == 0:
		return false
	}
	return c.isn != syn.Seq
}

// slot returns the place of a key, which is free where the key is new.
func (t *Table) slot(hash uint64, k *key) *slot {
	mask := uint64(len(t.index) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &t.index[i]
		if s.id == 0 || s.mark == uint32(hash>>32) && t.At(int(s.id-1)).key.equal(k) {
			return s
		}
	}
}

func (t *Table) grow() {
	old := t.index
	t.index = make([]slot, 2*len(old))
	mask := uint64(len(t.index) - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		i := t.At(int(s.id-1)).key.hash() & mask
		for t.index[i].id != 0 {
			i = (i + 1) & mask
		}
		t.index[i] = s
	}
}

// open begins a conversation with a packet. Where there is no room for another one it
// returns the one before of the same ends, or nil.
func (t *Table) open(s *slot, hash uint64, p *Packet) *Conversation {
	if t.n == t.o.Max {
		t.Untracked++
		if s.id != 0 {
			return t.At(int(s.id - 1))
		}
		return nil
	}
	if s.id == 0 {
		if t.used++; t.used*4 > len(t.index)*3 {
			t.grow()
			s = t.slot(hash, &p.key)
		}
	}
	if t.n%chunk == 0 {
		t.chunks = append(t.chunks, make([]Conversation, chunk))
	}
	c := t.At(t.n)
	t.n++
	*s = slot{uint32(hash >> 32), uint32(t.n)}
	*c = Conversation{ID: t.n - 1, Proto: p.Proto, key: p.key}
	// What a SYN-ACK answers may come behind it.
	syn := p.IsTCP() && p.Flags&(SYN|ACK|RST|FIN) == SYN
	answer := p.IsTCP() && p.Flags&(SYN|ACK|RST) == SYN|ACK
	switch {
	case syn:
		c.state, c.isn = opened, p.Seq
	case answer:
		c.state, c.isn = opened, p.Ack-1
	}
	src, dst := p.Src(), p.Dst()
	sent := true // the client sent it
	switch {
	case len(t.o.ClientNet) > 0 && t.inside(src.Addr) != t.inside(dst.Addr):
		sent = t.inside(src.Addr)
	case syn:
	case answer:
		sent = false
	case src.Port != dst.Port:
		sent = src.Port > dst.Port
	}
	c.clientSecond = p.backward == sent
	c.Client, c.Server = src, dst
	if !sent {
		c.Client, c.Server = dst, src
	}
	return c
}

func (t *Table) inside(a netip.Addr) bool {
	for _, n := range t.o.ClientNet {
		if n.Contains(a) {
			return true
		}
	}
	return false
}

func fragmentOf(p *Packet) fragment {
	return fragment{addr: p.key.addr, proto: p.key.proto, id: p.ID, backward: p.backward}
}

// keep remembers which conversation the first fragment of a packet belongs to.
func (t *Table) keep(p *Packet, c *Conversation) {
	if t.fragments == nil {
		t.fragments = make(map[fragment]*Conversation)
	} else if len(t.fragments) >= fragmentsKept {
		clear(t.fragments)
	}
	t.fragments[fragmentOf(p)] = c
}
