package survey

import (
	"squall/internal/convo"
	"squall/internal/wire"
	"squall/pcaps"
)

// Survey counts records. New makes one.
type Survey struct {
	o      Options
	shape  pcaps.Reframer
	packet convo.Packet
	stack  wire.Stack
	table  *convo.Table

	frames, bytes, captured uint64
	links                   []LinkCount
	link                    int // of links, that of the last frame
	times                   times
	sizes                   sizes
	tree                    tree
	talk                    tallies
	fates                   Replay
	ipBytes                 uint64
	badSums                 uint64
}

// Options say what is counted.
type Options struct {
	// Convo says who is the client of a conversation, and how many are kept.
	Convo convo.Options
	// Top is how many conversations are reported one by one, those with the most
	// bytes.
	Top int
	// MTU is that of the port that replay would send to, in bytes; 0: 1500.
	MTU int
}

// New returns an empty survey.
func New(o Options) *Survey {
	if o.MTU == 0 {
		o.MTU = 1500
	}
	return &Survey{o: o, table: convo.NewTable(o.Convo), tree: newTree(), fates: Replay{MTU: o.MTU}}
}

// Add counts a record, of which it keeps nothing.
func (s *Survey) Add(rec *pcaps.Record) {
	s.frames++
	s.bytes += uint64(rec.Len)
	s.captured += uint64(len(rec.Data))
	s.countLink(rec)
	s.times.add(rec)
	frame, length := rec.Data, rec.Len
	if rec.LinkType != pcaps.Ethernet {
		var err error
		if frame, length, _, err = s.shape.Frame(*rec); err != nil {
			s.tree.count(s.tree.child(root, kindLink, uint32(rec.LinkType)), rec.Len)
			s.fates.LinkType++
			return
		}
	}
	s.sizes.add(length)
	s.fate(frame, length)

	p := &s.packet
	ip := p.Decode(frame)
	s.tree.count(s.protocols(rec.LinkType, frame, ip), rec.Len)
	if !ip {
		return
	}
	s.ipBytes += uint64(p.Len)
	if !p.Six && badSum(frame[p.L3:p.L4]) {
		s.badSums++
	}
	if c, fromClient := s.table.Find(p); c != nil {
		s.talk.add(c.ID, fromClient, rec)
	}
}

// badSum reports whether the checksum of an IPv4 header is wrong (RFC 791 section
// 3.1).
func badSum(header []byte) bool { return wire.Fold(wire.Sum(header)) != 0xffff }

// countLink counts a frame by its interface and link type.
func (s *Survey) countLink(rec *pcaps.Record) {
	if s.link < len(s.links) {
		if l := &s.links[s.link]; l.Interface == rec.Interface && l.Type == rec.LinkType {
			l.Frames++
			l.Bytes += uint64(rec.Len)
			return
		}
	}
	for s.link = range s.links {
		if l := &s.links[s.link]; l.Interface == rec.Interface && l.Type == rec.LinkType {
			l.Frames++
			l.Bytes += uint64(rec.Len)
			return
		}
	}
	s.links = append(s.links, LinkCount{Interface: rec.Interface, Type: rec.LinkType, Name: rec.LinkType.String(), Frames: 1, Bytes: uint64(rec.Len)})
	s.link = len(s.links) - 1
}

// fate counts what replay would leave out by its defaults; one frame for one reason,
// in the order in which replay looks.
func (s *Survey) fate(frame []byte, length int) {
	switch {
	case length < wire.HeaderLen:
		s.fates.Short++
	case len(frame) < length:
		s.fates.Truncated++
	case length > longest(frame, s.o.MTU):
		s.fates.Oversize++
	default:
		s.fates.Sent++
	}
}

// longest returns how long, without FCS, a frame that begins like this one may be on
// a port: beyond the Ethernet header Linux grants one tag of type 0x8100 and no other
// (packet_extra_vlan_len_allowed in net/packet/af_packet.c).
func longest(frame []byte, mtu int) int {
	n := wire.HeaderLen + mtu
	if frame[12] == wire.EtherTypeVLAN>>8 && frame[13] == wire.EtherTypeVLAN&0xff {
		n += 4
	}
	return n
}
