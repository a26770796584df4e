package scenarios

import (
	"fmt"
	"time"

	"squall/internal/pace"
	"squall/internal/plan"
)

// Phase is a span of a run with one plan at one schedule.
type Phase struct {
	Name string
	Plan *plan.Plan
	// Asked is the rate as the user wrote it, for the report.
	Asked    string
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
	for _, s := range p.Plan.Streams {
		if s.Tag != plan.TagNone {
			return false
		}
	}
	return p.Plan.Pass > 0
}

// check refuses a phase that cannot be run, or counted where there is a
// receiver.
func (p *Phase) check(receiver bool) error {
	if p.Plan == nil || p.Schedule == nil {
		return fmt.Errorf("phase %q without plan or schedule", p.Name)
	}
	if len(p.Plan.Streams) > 1 && p.replayed() {
		return fmt.Errorf("phase %q: a replay has one stream", p.Name)
	}
	for _, s := range p.Plan.Streams {
		if receiver && s.Tag == plan.TagNone && !p.replayed() {
			return fmt.Errorf("stream %q has no tag, so a receiver cannot count it: give it a tag, or send without a receiver", s.Name)
		}
	}
	return nil
}
