package survey

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"squall/internal/convo"
	"squall/internal/wire"
	"squall/pcaps"
)

// Report is what a Survey found.
type Report struct {
	Frames   uint64 `json:"frames"`
	Bytes    uint64 `json:"bytes"`          // on the wire, without FCS
	Captured uint64 `json:"captured_bytes"` // less where the snap length cut frames

	LinkTypes     []LinkCount   `json:"link_types"` // by interface, in order of appearance
	Times         Times         `json:"times"`
	Rates         *Rates        `json:"rates"` // nil where all frames have one time, or none
	Sizes         *Sizes        `json:"sizes"` // nil where no frame is or can be Ethernet
	Protocols     []Protocol    `json:"protocols"`
	Conversations Conversations `json:"conversations"`
	// BadChecksums counts IPv4 headers whose checksum is wrong: the outer one of
	// each frame.
	BadChecksums uint64 `json:"bad_ipv4_checksums"`
	Replay       Replay `json:"replay"`
}

// LinkCount counts the frames of one link type of one interface.
type LinkCount struct {
	Interface int            `json:"interface"` // within its section of a pcapng file; 0 in pcap
	Type      pcaps.LinkType `json:"link_type"`
	Name      string         `json:"name"`
	Frames    uint64         `json:"frames"`
	Bytes     uint64         `json:"bytes"`
}

// Times says when, and what the time stamps are worth.
type Times struct {
	First    string `json:"first"` // the earliest, RFC 3339 in UTC; "" where no stamp is sound
	Last     string `json:"last"`  // the latest
	Duration int64  `json:"duration_ns"`
	// Backwards counts frames whose time is before that of the frame in front, and
	// LargestBack is the largest such step, in ns; LargestGap the largest forwards.
	Backwards   uint64 `json:"backwards"`
	LargestBack int64  `json:"largest_step_back_ns"`
	LargestGap  int64  `json:"largest_gap_ns"`
	None        uint64 `json:"without"` // frames without a time stamp
	Invalid     uint64 `json:"invalid"` // frames whose time stamp is none
}

// Rates are means over the time from the first to the last frame.
type Rates struct {
	Frames float64 `json:"pps"`
	L1     float64 `json:"l1_bits"` // bit/s with FCS, preamble and gap, short frames padded to 64 bytes
	L2     float64 `json:"l2_bits"` // bit/s with FCS, short frames padded
	L3     float64 `json:"l3_bits"` // bit/s of IP packets by their headers' lengths
}

// Sizes are sizes of frames in bytes, with FCS.
type Sizes struct {
	Min     int       `json:"min"`
	Mean    float64   `json:"mean"`
	Max     int       `json:"max"`
	Buckets []SizeRow `json:"buckets"` // all of them, empty ones as well
}

// SizeRow counts the frames of a range of sizes.
type SizeRow struct {
	Size   string `json:"size"`
	Frames uint64 `json:"frames"`
}

// Protocol is one protocol beneath the one that carries it. Its frames and bytes
// count those of the protocols within.
type Protocol struct {
	Name   string     `json:"name"`
	Frames uint64     `json:"frames"`
	Bytes  uint64     `json:"bytes"`
	Within []Protocol `json:"within,omitempty"` // the most frames first
}

// Conversations says who spoke with whom.
type Conversations struct {
	Total      int                  `json:"total"`
	ByProtocol []ConversationCounts `json:"by_protocol"`
	Untracked  uint64               `json:"untracked_frames"` // of conversations beyond those kept
	Top        []Conversation       `json:"top"`              // those of the most bytes, the largest first
}

// ConversationCounts counts the conversations of one IP protocol.
type ConversationCounts struct {
	Protocol      string `json:"protocol"`
	Conversations int    `json:"conversations"`
	Frames        uint64 `json:"frames"`
	Bytes         uint64 `json:"bytes"`
}

// Conversation is one of them. Frames and bytes are those that each end sent.
type Conversation struct {
	ID           int    `json:"conversation"` // from 0, in order of appearance
	Protocol     string `json:"protocol"`
	Client       string `json:"client"` // address:port, or the address where there are no ports
	Server       string `json:"server"`
	ClientFrames uint64 `json:"client_frames"`
	ClientBytes  uint64 `json:"client_bytes"`
	ServerFrames uint64 `json:"server_frames"`
	ServerBytes  uint64 `json:"server_bytes"`
	First        string `json:"first"`
	Last         string `json:"last"`
}

// Replay says what replay would send by its defaults, and why not the rest.
type Replay struct {
	MTU       int    `json:"mtu"`
	Sent      uint64 `json:"sent"`
	Truncated uint64 `json:"truncated"` // cut by the snap length
	Oversize  uint64 `json:"oversize"`  // above the MTU
	Short     uint64 `json:"short"`     // below 14 bytes
	LinkType  uint64 `json:"link_type"` // not to be sent on Ethernet
}

// Report returns what was found so far.
func (s *Survey) Report() *Report {
	r := &Report{
		Frames: s.frames, Bytes: s.bytes, Captured: s.captured, LinkTypes: s.links, Times: s.times.report(),
		Rates: s.rates(), Sizes: s.sizes.report(), Protocols: s.tree.report(), Conversations: s.conversations(),
		BadChecksums: s.badSums, Replay: s.fates,
	}
	if r.LinkTypes == nil {
		r.LinkTypes = []LinkCount{}
	}
	return r
}

// Stamp writes a time in ns since 1970 as RFC 3339 with nanoseconds, in UTC.
func Stamp(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z") }

func (t *times) report() Times {
	r := Times{Backwards: t.backwards, LargestBack: t.back, LargestGap: t.gap, None: t.none, Invalid: t.invalid}
	if t.sound > 0 {
		r.First, r.Last, r.Duration = Stamp(t.first), Stamp(t.last), t.last-t.first
	}
	return r
}

func (s *Survey) rates() *Rates {
	seconds := float64(s.times.last-s.times.first) / 1e9
	if seconds <= 0 {
		return nil
	}
	return &Rates{
		Frames: float64(s.frames) / seconds,
		L1:     float64(s.sizes.onWire+s.sizes.frames*wire.Overhead) * 8 / seconds,
		L2:     float64(s.sizes.onWire) * 8 / seconds,
		L3:     float64(s.ipBytes) * 8 / seconds,
	}
}

func (s *sizes) report() *Sizes {
	if s.frames == 0 {
		return nil
	}
	r := &Sizes{Min: s.min, Mean: float64(s.sum) / float64(s.frames), Max: s.max}
	for i, b := range bounds {
		r.Buckets = append(r.Buckets, SizeRow{b.name, s.buckets[i]})
	}
	return r
}

func (t *tree) report() []Protocol { return t.within(root) }

func (t *tree) within(of int32) []Protocol {
	list := []Protocol{}
	for at := t.nodes[of].first; at != 0; at = t.nodes[at].next {
		n := &t.nodes[at]
		p := Protocol{Name: n.name(), Frames: n.frames, Bytes: n.bytes, Within: t.within(at)}
		for _, w := range p.Within {
			p.Frames += w.Frames
			p.Bytes += w.Bytes
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Protocol) int { return cmp.Or(cmp.Compare(b.Frames, a.Frames), cmp.Compare(a.Name, b.Name)) })
	return list
}

func (s *Survey) conversations() Conversations {
	r := Conversations{Total: s.table.Len(), Untracked: s.table.Untracked, ByProtocol: []ConversationCounts{}, Top: []Conversation{}}
	var counts [256]ConversationCounts
	for id := range s.table.Len() {
		t, n := s.talk.at(id), &counts[s.table.At(id).Proto]
		n.Conversations++
		n.Frames += t.frames[0] + t.frames[1]
		n.Bytes += t.total()
	}
	for i := range counts {
		if counts[i].Conversations > 0 {
			counts[i].Protocol = protocol(uint8(i))
			r.ByProtocol = append(r.ByProtocol, counts[i])
		}
	}
	slices.SortStableFunc(r.ByProtocol, func(a, b ConversationCounts) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, id := range s.talk.top(s.o.Top, s.table.Len()) {
		c, t := s.table.At(id), s.talk.at(id)
		one := Conversation{ID: id, Protocol: protocol(c.Proto), Client: name(c, c.Client), Server: name(c, c.Server),
			ClientFrames: t.frames[0], ClientBytes: t.bytes[0], ServerFrames: t.frames[1], ServerBytes: t.bytes[1]}
		if t.first > 0 {
			one.First, one.Last = Stamp(t.first), Stamp(t.last)
		}
		r.Top = append(r.Top, one)
	}
	return r
}

// name writes an end as address:port, or as the address where neither end has a port.
func name(c *convo.Conversation, e convo.Endpoint) string {
	if c.Client.Port == 0 && c.Server.Port == 0 {
		return e.Addr.String()
	}
	return netip.AddrPortFrom(e.Addr, e.Port).String()
}
