package scenarios

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"squall/internal/meter"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/wire"
)

// accounts are the meter's side of a run: one account a stream of each phase.
type accounts struct {
	phases   [][]*meter.Stream // as Phase.Plan.Streams
	receiver *meter.Receiver   // nil without a receiving port
	stamps   *port.Stamps      // of replayed frames
}

// stampsKept is how many send times of a replay are remembered: a frame that is
// under way while a million others are sent has no latency.
const stampsKept = 1 << 20

// newAccounts makes an account for every stream, and recognisers for what the
// phases send. lost is told of every loss period when it is settled.
func newAccounts(run uint16, phases []Phase, lost func(phase, stream int, p meter.LossPeriod)) (*accounts, error) {
	a := &accounts{}
	c := meter.ReceiverConfig{Run: run}
	byID := map[uint16]*plan.Stream{}
	for i, ph := range phases {
		var of []*meter.Stream
		for k, s := range ph.Plan.Streams {
			m, err := meter.NewStream(meter.Config{Stream: s.ID, Window: window(ph.Schedule), OnLoss: func(p meter.LossPeriod) { lost(i, k, p) }})
			if err != nil {
				return nil, err
			}
			of = append(of, m)
			byID[s.ID] = s
		}
		a.phases = append(a.phases, of)
		c.Streams = append(c.Streams, of...)
	}
	c.IDs = meter.NewIDMatcher(func(stream uint16, flow uint32, n uint64) uint64 {
		return byID[stream].Seq(uint64(flow), n)
	})
	for _, ph := range phases {
		if ph.replayed() {
			if c.Content != nil {
				return nil, fmt.Errorf("phase %q: one replay a run", ph.Name)
			}
			a.stamps = port.NewStamps(stampsKept)
			c.Content = meter.NewContentMatcher(ph.Plan.Streams[0].ID, fingerprints(ph.Plan), ph.Count)
			c.Content.Times = a.stamps
		}
		if err := addFlows(c.IDs, ph.Plan); err != nil {
			return nil, err
		}
	}
	var err error
	a.receiver, err = meter.NewReceiver(c)
	return a, err
}

func fingerprints(p *plan.Plan) []uint64 {
	t := &p.Streams[0].Heads
	prints := make([]uint64, t.Len())
	for k := range prints {
		prints[k] = wire.Fingerprint(t.At(uint64(k)))
	}
	return prints
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

// receive counts what the reader takes off its port until stop is set, and
// returns the reader's error if it fails.
func (a *accounts) receive(r port.BatchReader, stop *atomic.Bool) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for !stop.Load() {
		frames, err := r.Receive(10 * time.Millisecond)
		if err != nil {
			return err
		}
		for i := range frames {
			a.receiver.Frame(frames[i].Data, frames[i].At)
		}
	}
	return nil
}

// arrived counts the arrivals that belong to a phase, whatever else they were.
func (a *accounts) arrived() (n uint64) {
	for _, of := range a.phases {
		for _, s := range of {
			l := s.Live()
			n += l.Received + l.Duplicated + l.Late
		}
	}
	return n
}

// live sums the live counters of a phase.
func (a *accounts) live(phase int) (sum meter.Live) {
	for _, s := range a.phases[phase] {
		l := s.Live()
		sum.Received += l.Received
		sum.Missing += l.Missing
		sum.Duplicated += l.Duplicated
		sum.Reordered += l.Reordered
	}
	return sum
}

// window returns the sequence window for a rate: at least a second's frames, so
// that losses are settled soon after they happen at any rate.
func window(s pace.Schedule) int {
	n := meter.MinWindow
	for ; n < 1<<16 && (s.Rate() == 0 || float64(n) < s.Rate()); n *= 2 {
	}
	return n
}
