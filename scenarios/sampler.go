package scenarios

import (
	"sync"
	"time"

	"squall/internal/port"
)

// sampler takes a sample of a phase once a second.
type sampler struct {
	run      *run
	phase    int
	progress []port.Progress // of each core
	start    time.Time
	last     Sample
	told     []uint64 // frames of each core whose impairments were told of
}

// begin starts sampling. The function it returns takes the last sample and ends
// it.
func (s *sampler) begin() (stop func()) {
	s.last.Time = s.start
	s.told = make([]uint64, len(s.progress))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.take()
			case <-done:
				s.take()
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

func (s *sampler) take() {
	live := s.run.accounts.live(s.phase)
	now := time.Now()
	m := Sample{
		Time:       now.UTC(),
		Phase:      s.run.Phases[s.phase].Name,
		Seconds:    now.Sub(s.start).Seconds(),
		Received:   live.Received,
		Lost:       live.Missing,
		Duplicated: live.Duplicated,
		Reordered:  live.Reordered,
	}
	for k := range s.progress {
		p := &s.progress[k]
		n := p.Frames.Load()
		m.Sent += n
		s.run.tellImpaired(s.phase, k, s.told[k], n)
		s.told[k] = n
		if in := s.run.intents[s.phase][k]; in != nil {
			lost, duplicated, reordered := in.roughly(n)
			m.Lost -= min(m.Lost, lost)
			m.Duplicated -= min(m.Duplicated, duplicated)
			m.Reordered -= min(m.Reordered, reordered)
		}
		m.SentBytes += p.Bytes.Load()
		m.Retries += p.Retries.Load()
	}
	if span := now.Sub(s.last.Time).Seconds(); span > 0 {
		m.PPS = float64(m.Sent-s.last.Sent) / span
		m.RxPPS = float64(m.Received-s.last.Received) / span
	}
	s.last = m
	s.run.tell.sample(m)
}
