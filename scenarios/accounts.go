package scenarios

import (
	"fmt"

	"squall/internal/meter"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/port/xdpmeter"
)

// account is one stream's: kept here (meter.Stream) or in the kernel
// (xdpmeter.Stream).
type account interface {
	Live() meter.Live
	Finish(sent uint64)
	Report() meter.Report
}

// accounts are the meter's side of a run: one account a stream of each phase. The
// zero value is that of a run without a receiving port.
type accounts struct {
	// phases has for each phase the accounts of its plans' streams, plan by plan.
	phases [][]account
	// total sums the accounts of one phase.
	total func(phase int) meter.Report
	// apart has what is on no account.
	apart func() meter.Apart
	// frame counts a frame that a reader took off the port; nil where the kernel
	// counts.
	frame func(frame []byte, at int64) meter.Match
	// fault says why the figures are not to be believed.
	fault func() error
	close func() error
	// stamps are the send times of replayed frames.
	stamps *port.Stamps
	// lost, set before the first frame, is told of every loss period when it is
	// settled.
	lost func(phase, stream int, p meter.LossPeriod)
}

// configs returns how each stream of a phase is counted.
func (a *accounts) configs(phase int, p *Phase) []meter.Config {
	var cs []meter.Config
	for _, s := range p.streams() {
		k := len(cs)
		cs = append(cs, meter.Config{
			Stream: s.ID, Window: window(p.Schedule),
			OnLoss: func(l meter.LossPeriod) { a.lost(phase, k, l) },
		})
	}
	return cs
}

// streams returns the streams of all plans, plan by plan.
func (p *Phase) streams() []*plan.Stream {
	var all []*plan.Stream
	for _, pl := range p.Plans {
		all = append(all, pl.Streams...)
	}
	return all
}

// countInKernel counts by an XDP program on the port.
func countInKernel(rx *port.Port, run uint16, phases []Phase) (*accounts, error) {
	a := &accounts{lost: func(int, int, meter.LossPeriod) {}}
	c := xdpmeter.Config{Run: run}
	for i := range phases {
		c.Streams = append(c.Streams, a.configs(i, &phases[i])...)
	}
	m, err := xdpmeter.Open(rx, c)
	if err != nil {
		return nil, err
	}
	var streams [][]*xdpmeter.Stream
	for i := range phases {
		var of []account
		var raw []*xdpmeter.Stream
		for _, s := range phases[i].streams() {
			of, raw = append(of, m.Stream(s.ID)), append(raw, m.Stream(s.ID))
		}
		a.phases, streams = append(a.phases, of), append(streams, raw)
	}
	a.total = func(phase int) meter.Report { return xdpmeter.Total(streams[phase]...) }
	a.apart = m.Apart
	a.close = m.Close
	a.fault = func() error {
		if n := m.Stuck(); n > 0 {
			return fmt.Errorf("the meter on %s left out %d frames: this machine took a CPU away from it", rx.Ref, n)
		}
		return nil
	}
	return a, nil
}

// stampsKept is how many send times of a replay are remembered: a frame that is
// under way while a million others are sent has no latency.
const stampsKept = 1 << 20

// countHere counts what a reader takes off the port.
func countHere(run uint16, phases []Phase) (*accounts, error) {
	a := &accounts{lost: func(int, int, meter.LossPeriod) {}}
	c := meter.ReceiverConfig{Run: run}
	byID := map[uint16]*plan.Stream{}
	var streams [][]*meter.Stream
	for i := range phases {
		var of []account
		first := len(c.Streams)
		for k, conf := range a.configs(i, &phases[i]) {
			m, err := meter.NewStream(conf)
			if err != nil {
				return nil, err
			}
			of, c.Streams = append(of, m), append(c.Streams, m)
			byID[conf.Stream] = phases[i].streams()[k]
		}
		a.phases, streams = append(a.phases, of), append(streams, c.Streams[first:])
	}
	c.IDs = meter.NewIDMatcher(func(stream uint16, flow uint32, n uint64) uint64 {
		return byID[stream].Seq(uint64(flow), n)
	})
	for i := range phases {
		ph := &phases[i]
		if ph.replayed() {
			if c.Content != nil {
				return nil, fmt.Errorf("phase %q: one replay a run", ph.Name)
			}
			a.stamps = port.NewStamps(stampsKept)
			err := ph.Plans[0].Guard(func() error {
				c.Content = contentMatcher(ph.Plans[0], ph.Count)
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("phase %q: %w", ph.Name, err)
			}
			c.Content.Times = a.stamps
		}
		for _, p := range ph.Plans {
			if err := addFlows(c.IDs, p); err != nil {
				return nil, err
			}
		}
	}
	r, err := meter.NewReceiver(c)
	if err != nil {
		return nil, err
	}
	a.total = func(phase int) meter.Report { return meter.Total(streams[phase]...) }
	a.apart = r.Apart
	a.frame = r.Frame
	a.fault = func() error { return nil }
	a.close = func() error { return nil }
	return a, nil
}

// addFlows tells the recogniser of identifications every flow of the streams
// that are counted by it.
func addFlows(ids *meter.IDMatcher, p *plan.Plan) error {
	frame := make([]byte, p.MaxLen())
	for _, s := range p.Streams {
		if s.Tag != plan.TagID {
			continue
		}
		for f := range s.Heads.Len() {
			n := s.Write(frame, s.Seq(uint64(f), 0), 0)
			if err := ids.Add(frame[:n], s.ID, uint32(f)); err != nil {
				return fmt.Errorf("stream %q: %w", s.Name, err)
			}
		}
	}
	return nil
}

// arrived counts the arrivals that belong to a phase, whatever else they were.
func (a *accounts) arrived() (n uint64) {
	for i := range a.phases {
		l := a.live(i)
		n += l.Received + l.Duplicated + l.Late
	}
	return n
}

// live sums the live counters of a phase.
func (a *accounts) live(phase int) (sum meter.Live) {
	if a.phases == nil {
		return sum
	}
	for _, s := range a.phases[phase] {
		l := s.Live()
		sum.Received += l.Received
		sum.Missing += l.Missing
		sum.Duplicated += l.Duplicated
		sum.Reordered += l.Reordered
		sum.Late += l.Late
	}
	return sum
}

// foreigners counts the frames of other runs that have come in so far.
func (a *accounts) foreigners() uint64 {
	if a.apart == nil {
		return 0
	}
	x := a.apart()
	return x.Foreign + x.Misdirected
}

// window returns the sequence window for a rate: at least a second's frames, so
// that losses are settled soon after they happen at any rate.
func window(s pace.Schedule) int {
	n := meter.MinWindow
	for ; n < 1<<16 && (s.Rate() == 0 || float64(n) < s.Rate()); n *= 2 {
	}
	return n
}
