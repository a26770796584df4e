package xdpmeter

import (
	"runtime"
	"sync/atomic"

	"squall/internal/meter"
	"squall/internal/port/bpf"
)

// A Stream is the account of one stream, as a meter.Stream is. Its Meter has it.
type Stream struct {
	meter   *Meter
	config  meter.Config
	account int // its place in the maps
	slots   int // of its first slot

	finished atomic.Bool
	// Guarded by meter.mu, but for lost after finished.
	losses *meter.Losses // nil before the first period
	told   uint64        // periods that losses was told of while counting
	last   meter.Settled // as Finish left it
	lost   atomic.Uint64
	sent   uint64
	beyond uint64
}

func (s *Stream) memory() *bpf.MeterAccount { return &s.meter.memory.accounts[s.account] }

// prepare fills the account in before the program runs.
func (s *Stream) prepare() {
	a := s.memory()
	a.Limit = s.config.Limit
	a.Mask = uint64(s.config.Window) - 1
	a.Slots = uint64(s.slots)
	a.NoticeableAt = s.config.Noticeable
	for _, m := range []*bpf.MeterMoments{&a.Latency, &a.Extent, &a.LateTime} {
		m.Min = none
	}
}

// Live returns the counters so far.
func (s *Stream) Live() meter.Live {
	a := s.memory()
	l := meter.Live{
		Received:   atomic.LoadUint64(&a.Received),
		Bytes:      atomic.LoadUint64(&a.Bytes),
		Missing:    atomic.LoadUint64(&a.Missing),
		Duplicated: atomic.LoadUint64(&a.Duplicated),
		Reordered:  atomic.LoadUint64(&a.Reordered),
		Late:       atomic.LoadUint64(&a.Late),
	}
	if s.finished.Load() {
		l.Missing = s.lost.Load()
	}
	return l
}

// lose takes note of a loss period that is over.
func (s *Stream) lose(p meter.LossPeriod, previous uint64) {
	s.ensure()
	s.told++
	p.Stream = s.config.Stream
	s.losses.Add(p, previous, previous == none)
}

func (s *Stream) ensure() {
	if s.losses == nil {
		s.losses, _ = meter.NewLosses(s.config) // the config was checked
	}
}

// Finish ends the account: the sequence numbers 0 to sent-1 were sent, and what is
// missing of them is lost. A frame that comes later is late (or wild). Only the
// first call counts.
func (s *Stream) Finish(sent uint64) {
	m := s.meter
	m.mu.Lock()
	if s.finished.Load() {
		m.mu.Unlock()
		return
	}
	s.freeze()
	m.mu.Unlock()

	a := snapshot(s.memory())
	m.drain(func() bool { return s.told == a.Periods-a.Untold })

	m.mu.Lock()
	defer m.mu.Unlock()
	if s.finished.Load() {
		return
	}
	s.settle(a, sent)
	s.finished.Store(true)
}

// freeze tells the program that the account is finished and waits until it is no
// longer at it. Both sides' accesses are full barriers: whoever takes the lock after
// it was seen free sees the mark.
func (s *Stream) freeze() {
	a := s.memory()
	atomic.StoreUint64(&a.Finished, 1)
	for atomic.LoadUint64(&a.Lock) != 0 {
		runtime.Gosched()
	}
}

// settle settles the window of a frozen account.
func (s *Stream) settle(a bpf.MeterAccount, sent uint64) {
	s.sent = sent
	if a.Next > sent {
		s.beyond = a.Next - sent
	}
	s.last = settled(a)
	if a.Next < sent || a.Missing != a.Lost || a.OpenFrames != 0 {
		s.ensure()
		slots := s.meter.memory.slots[s.slots:][:s.config.Window]
		s.last = s.losses.Finish(meter.Rest{
			Settled:  s.last,
			Last:     a.Last,
			Open:     meter.LossPeriod{First: a.OpenFirst, Frames: a.OpenFrames, At: int64(a.OpenAt)},
			Previous: a.OpenPrevious,
			None:     a.OpenPrevious == none,
			Before:   int64(a.Before),
			Base:     a.Next - min(a.Next, uint64(s.config.Window)),
			Next:     a.Next,
			At: func(seq uint64) (int64, bool) {
				slot := &slots[seq&a.Mask]
				return int64(slot.At), slot.Index == here
			},
		}, sent)
	}
	s.lost.Store(s.last.Lost)
}

// here is HERE of meter.bpf.c.
const here = ^uint64(0)

func settled(a bpf.MeterAccount) meter.Settled {
	return meter.Settled{Lost: a.Lost, Periods: a.Periods, Noticeable: a.Noticeable, Untold: a.Untold}
}

// counts reads the account. The Meter's lock is held.
func (s *Stream) counts() meter.Counts {
	m := s.meter
	a := snapshot(s.memory())
	c := meter.Counts{
		Sent:       s.sent,
		Received:   a.Received,
		Bytes:      a.Bytes,
		Missing:    a.Missing - min(a.Lost, a.Missing),
		Duplicated: a.Duplicated,
		Late:       a.Late,
		Wild:       a.Wild,
		Beyond:     s.beyond,
		Negative:   a.Negative,
		Runs:       a.Runs,
		Extent:     distribution(m.memory.extents, s.account, countBits, a.Extent),
		LateTime:   distribution(m.memory.lateTimes, s.account, m.bits, a.LateTime),
		Latency:    distribution(m.memory.latencies, s.account, m.bits, a.Latency),
		Settled:    settled(a),
		Losses:     s.losses,
	}
	if s.finished.Load() {
		c.Settled, c.Missing = s.last, 0
	}
	return c
}

// Report returns the account so far. Before Finish, Lost and the loss periods hold
// only what has left the window, Missing what has not, and a figure may be ahead of
// another by the frames that came meanwhile.
func (s *Stream) Report() meter.Report { return Total(s) }

// Total returns the sum of several streams' accounts, of one Meter or of several,
// as meter.Total does.
func Total(streams ...*Stream) meter.Report {
	if len(streams) == 0 {
		return meter.Report{}
	}
	sum, _ := meter.NewSum(streams[0].config) // it was checked
	for _, s := range streams {
		s.meter.mu.Lock()
		sum.Add(s.counts())
		s.meter.mu.Unlock()
	}
	return sum.Report()
}
