package scenarios

import (
	"fmt"
	"time"

	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
)

// Phase is a span of a run at one schedule.
type Phase struct {
	Name string
	// Plans are what each core sends: alike, but for the IDs of their streams.
	Plans []*plan.Plan
	// Asked is the rate as the user wrote it, for the report.
	Asked string
	// Schedule and Count are those of all cores together.
	Schedule pace.Schedule
	// Count and Duration bound the phase; with neither it lasts until the run
	// is stopped.
	Count    uint64
	Duration time.Duration
	// MaxLoss is the share of frames that may be lost, 0 to 1; nil: any.
	MaxLoss *float64
}

// replayed reports whether the phase's frames carry no tag and are known by
// their content.
func (p *Phase) replayed() bool {
	for _, s := range p.Plans[0].Streams {
		if s.Tag != plan.TagNone {
			return false
		}
	}
	return p.Plans[0].Pass > 0
}

// check refuses a phase that cannot be run, or counted where there is a
// receiver.
func (p *Phase) check(receiver bool) error {
	if len(p.Plans) == 0 || p.Schedule == nil {
		return fmt.Errorf("phase %q without plan or schedule", p.Name)
	}
	if p.replayed() && (len(p.Plans[0].Streams) > 1 || len(p.Plans) > 1) {
		return fmt.Errorf("phase %q: a replay has one stream, on one core", p.Name)
	}
	if p.Count > 0 && p.Count < uint64(len(p.Plans)) {
		return fmt.Errorf("phase %q: %d frames are too few for %d cores", p.Name, p.Count, len(p.Plans))
	}
	for _, s := range p.Plans[0].Streams {
		if receiver && s.Tag == plan.TagNone && !p.replayed() {
			return fmt.Errorf("stream %q has no tag, so a receiver cannot count it: give it a tag, or send without a receiver", s.Name)
		}
	}
	if _, err := share(p.Schedule, len(p.Plans)); err != nil {
		return fmt.Errorf("phase %q: %w", p.Name, err)
	}
	if receiver {
		return p.held()
	}
	return nil
}

// job is what core k of the phase does, from the time start on (0: at once).
func (p *Phase) job(k int, start int64) port.Job {
	n := uint64(len(p.Plans))
	s, _ := share(p.Schedule, len(p.Plans)) // checked
	j := port.Job{Plan: p.Plans[k], Schedule: s, Duration: p.Duration, Start: start}
	if p.Count > 0 {
		j.Count = p.Count / n
		if uint64(k) < p.Count%n {
			j.Count++
		}
	}
	return j
}

// share is the schedule of each of n cores that together keep to s. Their frames
// coincide rather than alternate.
func share(s pace.Schedule, n int) (pace.Schedule, error) {
	if n == 1 {
		return s, nil
	}
	switch s := s.(type) {
	case pace.Max:
		return s, nil
	case pace.Constant:
		s.Ns *= uint64(n)
		return s, nil
	case pace.Bursts:
		s.Of.Ns *= uint64(n)
		return s, nil
	case pace.Ramp:
		s.From, s.To = s.From/float64(n), s.To/float64(n)
		return s, nil
	}
	return nil, fmt.Errorf("%d cores cannot share the times of a capture: use one", n)
}
