package acks

import "squall/internal/convo"

// tsharkEnd is what Wireshark's rule remembers of one end (tcp_analyze_sequence_
// number in epan/dissectors/packet-tcp.c): its last segment, whatever it was.
type tsharkEnd struct {
	known     bool
	next      uint32 // greatest end of a segment
	ack       uint32
	window    int64 // in bytes
	keepAlive bool  // the last segment was one
}

// judge returns Duplicate where Wireshark says so, and where it does not what
// RFC 5681 says, or Unlike.
func (e *tsharkEnd) judge(s *segment, window int64, peer *tsharkEnd, rfc Finding) Finding {
	if e.repeats(s, window) && window != 0 && !peer.keepAlive {
		return Duplicate
	}
	if rfc == Duplicate {
		return Unlike
	}
	return rfc
}

// repeats reports whether the segment is the last one again, without data.
func (e *tsharkEnd) repeats(s *segment, window int64) bool {
	return e.known && s.n == 0 && s.flags&(convo.SYN|convo.FIN|convo.RST) == 0 &&
		window == e.window && s.seq == e.next && s.ack == e.ack
}

// took takes note of a segment that was judged.
func (e *tsharkEnd) took(s *segment, window int64, peer *tsharkEnd) {
	plain := s.flags&(convo.SYN|convo.FIN|convo.RST) == 0
	e.keepAlive = e.known && plain && s.n <= 1 && s.seq == e.next-1
	probe := e.known && plain && s.n == 1 && s.seq == e.next && peer.known && peer.window == 0
	if next := s.seq + uint32(s.length()); !e.known || int32(next-e.next) > 0 && !probe {
		e.next = next
	}
	e.known, e.ack, e.window = true, s.ack, window
}
