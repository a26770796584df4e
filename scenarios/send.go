package scenarios

import (
	"context"
	"errors"
	"sync"
	"time"

	"squall/internal/port"
	"squall/replay"
)

// send runs one phase, with a sample a second, and returns what each core sent. A
// core that fails ends the others.
func (r *run) send(ctx context.Context, i int) ([]port.Sent, error) {
	p := &r.Phases[i]
	r.tell.event(Event{Event: EventPhase, Phase: p.Name, Text: p.Asked})
	n := len(p.Plans)
	var start int64
	if i == 0 && r.meet != nil {
		start = r.meet.wait()
	}
	progress := make([]port.Progress, n)
	s := sampler{run: r, phase: i, progress: progress, start: time.Now()}
	stop := s.begin()
	defer stop()

	if p.replayed() {
		defer replay.ReadAhead(p.Plans[0], progress[0].Frames.Load)()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent, errs := make([]port.Sent, n), make([]error, n)
	var all sync.WaitGroup
	for k, sender := range r.pair.senders {
		job := p.job(k, start)
		job.CatchUp, job.Progress = int64(r.CatchUp), &progress[k]
		if p.replayed() {
			job.Stamps = r.accounts.stamps
		}
		all.Go(func() {
			if sent[k], errs[k] = sender.Send(ctx, job); errs[k] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	return sent, errors.Join(errs...)
}

// together is the account of all cores of a phase. Of the send errors it has the
// worst core's.
func together(cores []port.Sent) port.Sent {
	sum := cores[0]
	for _, s := range cores[1:] {
		if s.Start == 0 { // it did not begin
			continue
		}
		if sum.Start == 0 {
			sum.Start = s.Start
		}
		sum.Frames += s.Frames
		sum.Bytes += s.Bytes
		sum.Retries += s.Retries
		sum.Failed += s.Failed
		sum.Start, sum.End = min(sum.Start, s.Start), max(sum.End, s.End)
		sum.Slipped = max(sum.Slipped, s.Slipped)
		sum.Error = port.SendError(SendError(sum.Error).worse(SendError(s.Error)))
	}
	return sum
}
