package conversation

// sender sends one segment a slot.
type sender struct {
	first  int64  // time of slot 0
	slots  uint64 // that have been
	next   uint64 // SND.NXT
	una    uint64 // SND.UNA
	even   bool   // the receiver owes no ACK for what was sent before the next segment
	recent uint32 // the receiver's latest timestamp

	run    int // how many runs have begun
	open   bool
	held   segment // what is missing at the receiver, where open
	left   int     // segments still to pass it
	dups   int     // duplicate ACKs in a row
	timer  int64   // when the retransmission timer was started
	resend bool    // the lost segment may be sent again
	closed bool    // FIN is sent
}

func (s *sender) begin(at int64) { s.first, s.next, s.una, s.even = at, 1, 1, true }

// slot sends what is due: the segment that was held back or lost, a new one, or
// FIN.
func (s *sender) slot(p *play, now int64) error {
	switch {
	case s.open && s.left == 0:
		if p.Cause != Loss {
			s.release(p, now)
		} else if s.resend || s.dups < dupThresh && now >= s.timer+p.rto() {
			s.again(p, now)
		}
	case s.resend:
		return errUnlike(s.run, "the lost segment is due before the run is over")
	case s.done(p, now):
		if s.open || s.run < p.Runs {
			return errUnlike(s.run, "the data ends before the run is over")
		}
		s.send(p, now, s.make(p, now, fin|ack, 0))
		s.closed = true
		return nil
	default:
		s.data(p, now)
	}
	s.slots++
	p.push(s.first+p.Rate.Due(s.slots), slot, segment{})
	return nil
}

// done reports whether all data was sent.
func (s *sender) done(p *play, now int64) bool {
	if p.Bytes > 0 {
		return s.next-1 == p.Bytes
	}
	return now-s.first >= int64(p.Runs+1)*int64(p.Gap)
}

// data sends the next segment, or opens a hole with it.
func (s *sender) data(p *play, now int64) {
	n := p.mss
	if p.Bytes > 0 {
		n = int(min(uint64(n), p.Bytes-(s.next-1)))
	}
	begins := !s.open && s.run < p.Runs && now-s.first >= int64(s.run+1)*int64(p.Gap) &&
		(s.even || p.spacing() >= delayedAck)
	seg := s.make(p, now, psh|ack, n)
	p.made.Data++
	p.made.Bytes += uint64(n)
	s.even = !s.even
	switch {
	case begins:
		s.open, s.held, s.left = true, seg, p.lengthOf(s.run)
		s.run++
		p.made.Runs++
		if p.Cause == AcksOnly || p.Cause == Loss && p.tapped == 0 {
			p.push(now+p.tapped, seen, seg)
		}
		return
	case s.open:
		s.left--
	}
	s.send(p, now, seg)
}

// make returns the next new segment.
func (s *sender) make(p *play, now int64, flags uint8, n int) segment {
	seg := segment{client: p.ClientSends, flags: flags, seq: s.next, ack: 1, n: n, tsecr: s.recent}
	p.stamp(&seg, now)
	if s.una == s.next { // RFC 6298 section 5.1
		s.timer = now
	}
	s.next = seg.end()
	return seg
}

// send puts a segment on the path.
func (s *sender) send(p *play, now int64, seg segment) {
	p.push(now+p.tapped, seen, seg)
	p.push(now+p.there, received, seg)
}

// release lets the segment go that was held back.
func (s *sender) release(p *play, now int64) {
	if p.Cause == Reorder {
		p.push(now+p.tapped, seen, s.held)
	}
	p.push(now+p.there, received, s.held)
	s.open, s.even = false, true
}

// again sends the lost segment again, as a new IP packet.
func (s *sender) again(p *play, now int64) {
	s.held.tsecr = s.recent
	p.stamp(&s.held, now)
	p.made.Data++
	p.made.Retransmitted++
	s.send(p, now, s.held)
	s.open, s.even, s.resend = false, true, false
}

func (s *sender) arrived(p *play, now int64, seg *segment) {
	s.recent = seg.tsval
	if seg.flags&fin != 0 {
		last := segment{client: p.ClientSends, flags: ack, seq: s.next, ack: seg.end(), tsecr: s.recent}
		p.stamp(&last, now+turn)
		s.send(p, now+turn, last)
		return
	}
	if seg.ack > s.una {
		s.una, s.dups, s.timer = seg.ack, 0, now
		return
	}
	s.dups++
	if s.dups == dupThresh && p.Cause == Loss {
		s.resend = true
	}
}
