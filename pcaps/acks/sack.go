package acks

// maxWindow is the most that a window can hold (RFC 7323 section 2.3): a SACK
// block further away is of no sound receiver.
const maxWindow = 1 << 30

// sackNews is what the SACK option of a segment says.
type sackNews struct {
	above bool // names data above the ACK: it was sent, and some before it is outstanding
	fresh bool // names data that neither an ACK nor SACK had named (RFC 6675 section 2)
	dsack bool // the first block reports a duplicate segment (RFC 2883 section 4)
}

// sackOf takes note of the SACK blocks that e sends.
func (e *end) sackOf(s *segment, ack int64, peer *end) (news sackNews) {
	highest := max(ack, e.acked)
	if !e.acks {
		highest = ack
	}
	for i := range s.sackCount {
		at := func(v uint32) int64 { return ack + int64(int32(v-s.ack)) }
		b := span{at(s.sack[i][0]), at(s.sack[i][1])}
		if b.to <= b.from || b.to > ack+maxWindow {
			continue
		}
		if i == 0 && s.sackCount > 1 {
			second := span{at(s.sack[1][0]), at(s.sack[1][1])}
			news.dsack = b.from >= second.from && b.to <= second.to
		}
		if b.from < ack {
			news.dsack = news.dsack || i == 0
			continue
		}
		if b.to <= highest {
			continue
		}
		news.above = true
		if e.sacked.add(b) {
			news.fresh = true
		}
		if peer.seen {
			peer.sent = max(peer.sent, b.to)
		}
	}
	return news
}
