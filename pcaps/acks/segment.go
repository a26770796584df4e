package acks

import (
	"encoding/binary"

	"squall/internal/convo"
)

// TCP options, by kind (IANA).
const (
	optEnd        = 0
	optNop        = 1
	optScale      = 3
	optSACK       = 5
	optTimestamps = 8
)

// segment is what the analyses read of one TCP segment.
type segment struct {
	at        Time
	seq, ack  uint32
	window    uint16 // as in the header, not scaled
	flags     uint8
	n         int // bytes of data, captured or not
	id        uint16
	hasID     bool // IPv4
	scale     int  // window scale of a SYN; -1: none
	tsval     uint32
	hasTS     bool
	sack      [4][2]uint32
	sackCount int
}

// read takes the segment from a frame. It reports false where the frame has no
// TCP header, or is a fragment of one segment.
func (s *segment) read(f *Frame) bool {
	p := f.Packet
	if !p.IsTCP() || p.Fragment {
		return false
	}
	tcp := f.Data[p.L4:p.End]
	header := int(tcp[12]>>4) * 4
	// No longer than the frame, whatever the IP header says.
	n := min(p.L3+p.Len, f.Len) - p.L4 - header
	if header < 20 || n < 0 {
		return false
	}
	*s = segment{at: f.At, seq: p.Seq, ack: p.Ack, window: p.Window, flags: p.Flags, n: n, scale: -1,
		id: uint16(p.ID), hasID: !p.Six}
	s.options(tcp[20:min(header, len(tcp))])
	return true
}

// options reads the options that matter; it stops at the first unsound one.
func (s *segment) options(b []byte) {
	for len(b) > 0 {
		switch b[0] {
		case optEnd:
			return
		case optNop:
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return
		}
		o := b[2:b[1]]
		switch {
		case b[0] == optScale && len(o) == 1:
			s.scale = int(min(o[0], 14)) // RFC 7323 section 2.3
		case b[0] == optTimestamps && len(o) == 8:
			s.tsval, s.hasTS = binary.BigEndian.Uint32(o), true
		case b[0] == optSACK:
			for ; len(o) >= 8 && s.sackCount < len(s.sack); o = o[8:] {
				s.sack[s.sackCount] = [2]uint32{binary.BigEndian.Uint32(o), binary.BigEndian.Uint32(o[4:])}
				s.sackCount++
			}
		}
		b = b[b[1]:]
	}
}

// length is what the segment takes of the sequence space.
func (s *segment) length() int64 {
	n := int64(s.n)
	if s.flags&convo.SYN != 0 {
		n++
	}
	if s.flags&convo.FIN != 0 {
		n++
	}
	return n
}
