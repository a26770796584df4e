package meter

import (
	"fmt"

	"squall/internal/wire"
)

// An Arrival is one received frame whose place in its stream is known.
type Arrival struct {
	Stream  uint16
	Seq     uint64 // sequence number in the stream, from 0
	Size    int    // bytes, FCS included
	Sent    int64  // send time, CLOCK_MONOTONIC ns; 48 bits are used, as in wire.Tag
	HasSent bool   // Sent is known
	At      int64  // arrival time, CLOCK_MONOTONIC ns
}

// MinWindow is the smallest sequence window.
const MinWindow = 1024

// Config says how a Stream counts. The zero value means the defaults.
type Config struct {
	// Stream is written into the stream's loss periods.
	Stream uint16
	// Window is how many sequence numbers are remembered: a power of two of at
	// least MinWindow. Default 65536.
	Window int
	// Limit is above every sequence number that can be sent, where that is known
	// beforehand. An arrival with a number from Limit on is Wild: a tag carries
	// no checksum, and one changed bit would else make all between a loss.
	// Default, and at most, wire.MaxSeq+1.
	Limit uint64
	// Threshold is the displacement threshold DT and the buffer threshold BT of
	// RFC 5236, in frames, from 1 to 64. Default 8.
	Threshold int
	// Noticeable is delta of RFC 3357 section 6.1, in sequence numbers. Default
	// 99.
	Noticeable uint64
	// Periods is how many loss periods are kept one by one; further ones are
	// counted only. Default 4096.
	Periods int
	// OnLoss, where set, is called with each loss period when it is settled, in
	// order of sequence, from within Add and Finish.
	OnLoss func(LossPeriod)
}

func (c Config) withDefaults() (Config, error) {
	if c.Window == 0 {
		c.Window = 1 << 16
	}
	if c.Limit == 0 || c.Limit > wire.MaxSeq+1 {
		c.Limit = wire.MaxSeq + 1
	}
	if c.Threshold == 0 {
		c.Threshold = 8
	}
	if c.Noticeable == 0 {
		c.Noticeable = 99
	}
	if c.Periods == 0 {
		c.Periods = 4096
	}
	if c.Window < MinWindow || c.Window&(c.Window-1) != 0 {
		return c, fmt.Errorf("sequence window: have %d, need a power of two of at least %d", c.Window, MinWindow)
	}
	if c.Threshold < 1 || c.Threshold > maxThreshold {
		return c, fmt.Errorf("reorder density threshold: have %d, need 1 to %d", c.Threshold, maxThreshold)
	}
	if c.Periods < 0 {
		return c, fmt.Errorf("loss periods to keep: have %d, need 0 or more", c.Periods)
	}
	return c, nil
}

// noDelay marks a frame without a send time.
const noDelay = -1 << 63

// A slot is what the window knows of one sequence number. For a missing frame
// at and index are those of the first arrival that overtook it.
type slot struct {
	at    int64
	delay int64  // ns, or noDelay
	index uint64 // place among the first arrivals, from 0
	here  bool
}

// A Stream is the account of one stream's arrivals. Make one with NewStream.
type Stream struct {
	account
	live     live
	ring     []slot
	mask     uint64
	next     uint64 // highest sequence number seen + 1
	base     uint64 // first sequence number of the window
	finished bool
}

// NewStream returns an empty account. It fails where a field of c is out of
// its range.
func NewStream(c Config) (*Stream, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return newStream(c), nil
}

func newStream(c Config) *Stream {
	return &Stream{
		account: newAccount(c),
		ring:    make([]slot, c.Window),
		mask:    uint64(c.Window) - 1,
	}
}

// Add counts one arrival. Arrivals come in the order in which the frames did.
// One that comes after Finish is Late (or Wild).
func (s *Stream) Add(a Arrival) {
	switch {
	case a.Seq >= s.config.Limit:
		s.wild++
		return
	case s.finished || a.Seq < s.base:
		s.late++
		s.live.late.Store(s.late)
		return
	case a.Seq >= s.next:
		s.extend(a)
	default:
		gap := s.ring[a.Seq&s.mask]
		if gap.here {
			s.duplicated++
			s.live.duplicated.Store(s.duplicated)
			return
		}
		s.order.add(s.received-gap.index, a.At-gap.at)
		s.acks.add(a.Seq, s.received)
		s.live.reordered.Store(s.order.frames)
		s.live.missing.Store(s.next - s.received - 1)
	}

	delay := int64(noDelay)
	if a.HasSent {
		delay = wire.Latency(a.Sent, a.At)
		s.latency.add(delay)
		s.vary(a.Seq, delay)
	}
	s.ring[a.Seq&s.mask] = slot{at: a.At, delay: delay, index: s.received, here: true}
	s.acks.arrived(a.Seq, s.received)
	s.density.add(a.Seq)
	s.occupancy.add(a.Seq)
	s.received++
	s.bytes += uint64(a.Size)
	s.live.received.Store(s.received)
	s.live.bytes.Store(s.bytes)
}

// extend moves the window up to a.Seq, settles what leaves it and marks what
// a overtook.
func (s *Stream) extend(a Arrival) {
	if gap := a.Seq - s.next; gap != 0 {
		s.live.missing.Store(a.Seq - s.received)
	}
	if end := a.Seq + 1; end > uint64(len(s.ring)) {
		s.settle(end - uint64(len(s.ring)))
	}
	for q := max(s.next, s.base); q < a.Seq; q++ {
		s.ring[q&s.mask] = slot{at: a.At, delay: noDelay, index: s.received}
	}
	s.next = a.Seq + 1
}

// settle moves the window's beginning up to base. Numbers from next on were
// never seen: they are lost.
func (s *Stream) settle(base uint64) {
	for ; s.base < min(base, s.next); s.base++ {
		if q := &s.ring[s.base&s.mask]; q.here {
			s.loss.arrived(q.at)
		} else {
			s.loss.add(s.base, 1)
		}
	}
	if s.base < base {
		s.loss.add(s.base, base-s.base)
		s.base = base
	}
}

// vary compares a frame's delay with those of its neighbours in the window.
func (s *Stream) vary(seq uint64, delay int64) {
	if seq > s.base {
		if p := &s.ring[(seq-1)&s.mask]; p.here && p.delay != noDelay {
			s.variation.add(delay - p.delay)
		}
	}
	if seq+1 < s.next {
		if n := &s.ring[(seq+1)&s.mask]; n.here && n.delay != noDelay {
			s.variation.add(n.delay - delay)
		}
	}
}

// Finish ends the account: no frame will arrive any more, and the sequence
// numbers 0 to sent-1 were sent, so all that is missing is lost. Where numbers
// from sent on arrived, the report's Beyond says how many and loss counts up
// to the highest that did. Only the first call counts.
func (s *Stream) Finish(sent uint64) {
	if s.finished {
		return
	}
	s.finished = true
	s.sent = sent
	if s.next > sent {
		s.beyond = s.next - sent
	}
	s.settle(max(sent, s.next))
	s.next = s.base
	s.live.missing.Store(s.next - s.received)
	s.loss.finish()
	s.density.finish()
}

// Report returns the account so far. Before Finish, Lost and the loss periods
// hold only what has left the window, Missing what has not.
func (s *Stream) Report() Report {
	r := s.account.report()
	r.Missing = s.missing()
	return r
}

// missing returns how many numbers of the window are not here.
func (s *Stream) missing() uint64 { return s.next - s.received - s.loss.frames }
