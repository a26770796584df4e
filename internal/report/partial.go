package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"squall/scenarios"
)

// Incomplete is the verdict of a run that did not come to its end. As of a void run,
// nothing is known of the device.
const Incomplete = "incomplete"

// PartialSchema names the form of a Partial as JSON. Fields may be added under one
// name; none is renamed or changes its meaning.
const PartialSchema = "squall.incomplete/1"

// Partial is a run that did not come to its end, as far as its samples and events
// tell: up to the last second before it died.
type Partial struct {
	Schema  string            `json:"schema"`
	Verdict scenarios.Verdict `json:"verdict"`
	// Scenario is the first line of scenario.yaml where that is a comment: the command
	// line of a run that was made by flags.
	Scenario string `json:"scenario,omitempty"`
	// Began is the time of the first line, LastSample and LastEvent the latest that is
	// told; nil where there is none.
	Began      *time.Time `json:"began,omitempty"`
	LastSample *time.Time `json:"last_sample,omitempty"`
	LastEvent  *time.Time `json:"last_event,omitempty"`
	// UnderWay is what each pair was doing.
	UnderWay []UnderWay `json:"under_way"`
	// Phases are in order of their beginning, of one pair after the other.
	Phases []PartialPhase `json:"phases"`
	// Events are links, errors and the user's wish to stop.
	Events []scenarios.Event `json:"events"`
	// Damage says in words what could not be read.
	Damage []string `json:"damage"`
}

// UnderWay is what a pair was doing when the run ended.
type UnderWay struct {
	Pair     string  `json:"pair,omitempty"`
	Phase    string  `json:"phase"`
	Seconds  float64 `json:"seconds"`  // into it, at its last sample; 0: there is none
	Settling bool    `json:"settling"` // sending was over
}

// PartialPhase is a phase so far: the account of its last sample. What arrived after
// that is not known.
type PartialPhase struct {
	Pair  string `json:"pair,omitempty"`
	Name  string `json:"name"`
	Asked string `json:"asked,omitempty"`
	// Began is left out where no event tells, Sampled, the time of the last sample, where
	// there is none: then all figures are 0.
	Began   *time.Time `json:"began,omitempty"`
	Sampled *time.Time `json:"sampled,omitempty"`
	Ended   bool       `json:"ended"` // another began after it, or sending was over
	Seconds float64    `json:"seconds"`

	Sent       uint64 `json:"sent"`
	SentBytes  uint64 `json:"sent_bytes"`
	Retries    uint64 `json:"retries"`
	Received   uint64 `json:"received"`
	Lost       uint64 `json:"lost"` // known to be: later frames have come
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`

	// The rates are over Seconds, of layer 1; the last two of the second before the last
	// sample.
	AchievedPPS  float64 `json:"achieved_pps"`
	AchievedMbit float64 `json:"achieved_mbit"`
	ReceivedPPS  float64 `json:"received_pps"`
	LastPPS      float64 `json:"last_pps"`
	LastRxPPS    float64 `json:"last_rx_pps"`

	// Losses are the first 4,096 drop bursts that were over, as events.ndjson has them.
	Losses    []scenarios.Event `json:"losses"`
	LossCount uint64            `json:"loss_count"`
}

// Outstanding counts the frames that were sent and are neither here nor known to be
// lost.
func (p *PartialPhase) Outstanding() uint64 {
	return p.Sent - min(p.Sent, p.Received+p.Lost)
}

// lossesKept is as many as run.json has bursts of a phase.
const lossesKept = 4096

// LoadPartial reads what a run left behind that has no run.json. Lines that are half
// written are left out, and Damage says so. A directory that has none of the files of
// a run directory is refused.
func LoadPartial(dir string) (*Partial, error) {
	p := &Partial{Schema: PartialSchema, UnderWay: []UnderWay{}, Phases: []PartialPhase{}, Events: []scenarios.Event{}, Damage: []string{}}
	if err := isRun(dir); err != nil {
		return nil, err
	}
	var err error
	if p.Scenario, err = firstComment(filepath.Join(dir, "scenario.yaml")); err != nil {
		return nil, fmt.Errorf("run directory %q: %w", dir, err)
	}
	t := tale{p: p}
	for _, x := range []struct {
		file string
		take func([]byte) bool
	}{
		{"events.ndjson", t.event},
		{"samples.ndjson", t.sample},
	} {
		damage, err := readLines(filepath.Join(dir, x.file), x.take)
		if err != nil {
			return nil, fmt.Errorf("run directory %q: %w", dir, err)
		}
		if damage != "" {
			p.Damage = append(p.Damage, damage)
		}
	}
	t.end()
	return p, nil
}

// isRun refuses what is no run directory.
func isRun(dir string) error {
	if _, err := os.ReadDir(dir); err != nil {
		return fmt.Errorf("run directory: %w", err)
	}
	for _, name := range []string{"scenario.yaml", "samples.ndjson", "events.ndjson"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%q is no run directory: it has none of run.json, samples.ndjson, events.ndjson and scenario.yaml", dir)
}

// firstComment returns the first line of a file without its #, "" where that is no
// comment.
func firstComment(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", err
	}
	if text, ok := strings.CutPrefix(line, "#"); ok {
		return strings.TrimSpace(strings.ToValidUTF8(text, "?")), nil
	}
	return "", nil
}

// tale puts together what events and then samples tell.
type tale struct {
	p     *Partial
	pairs []*lane
}

// lane is what is told of one pair.
type lane struct {
	name    string
	phases  []*PartialPhase
	at      int // the phase of the last sample; -1 before the first
	settled bool
}

func (t *tale) lane(name string) *lane {
	for _, l := range t.pairs {
		if l.name == name {
			return l
		}
	}
	l := &lane{name: name, at: -1}
	t.pairs = append(t.pairs, l)
	return l
}

// told notes the time of a line.
func (t *tale) told(at time.Time, last **time.Time) {
	if t.p.Began == nil || at.Before(*t.p.Began) {
		t.p.Began = &at
	}
	if *last == nil || at.After(**last) {
		*last = &at
	}
}

// event takes a line of events.ndjson.
func (t *tale) event(line []byte) bool {
	var e scenarios.Event
	if json.Unmarshal(line, &e) != nil || e.Event == "" {
		return false
	}
	t.told(e.Time, &t.p.LastEvent)
	l := t.lane(e.Pair)
	switch e.Event {
	case scenarios.EventPhase:
		l.settled = false
		l.phases = append(l.phases, &PartialPhase{Pair: e.Pair, Name: e.Phase, Asked: e.Text, Began: &e.Time, Losses: []scenarios.Event{}})
	case scenarios.EventSettle:
		l.settled = true
	case scenarios.EventLoss:
		if x := l.losing(&e); x != nil {
			if x.LossCount++; len(x.Losses) < lossesKept {
				x.Losses = append(x.Losses, e)
			}
		}
	case scenarios.EventImpairment:
	default:
		t.p.Events = append(t.p.Events, e)
	}
	return true
}

// losing returns the phase whose frames a loss event tells of: the last of that name
// that had begun; nil where none is known.
func (l *lane) losing(e *scenarios.Event) (x *PartialPhase) {
	for _, p := range l.phases {
		if p.Name == e.Phase && (x == nil || !p.Began.After(e.Time)) {
			x = p
		}
	}
	return x
}

// sample takes a line of samples.ndjson.
func (t *tale) sample(line []byte) bool {
	var s scenarios.Sample
	if json.Unmarshal(line, &s) != nil || s.Phase == "" {
		return false
	}
	t.told(s.Time, &t.p.LastSample)
	x := t.lane(s.Pair).sampled(&s)
	x.Sampled, x.Seconds = &s.Time, s.Seconds
	x.Sent, x.SentBytes, x.Retries, x.Received = s.Sent, s.SentBytes, s.Retries, s.Received
	x.Lost, x.Duplicated, x.Reordered = s.Lost, s.Duplicated, s.Reordered
	x.LastPPS, x.LastRxPPS = s.PPS, s.RxPPS
	if s.Seconds > 0 {
		x.AchievedPPS, x.ReceivedPPS = float64(s.Sent)/s.Seconds, float64(s.Received)/s.Seconds
		// Preamble, start of frame and gap are 20 bytes (IEEE 802.3 sections 3.1 and 4.4.2).
		x.AchievedMbit = (float64(s.SentBytes) + 20*float64(s.Sent)) * 8 / s.Seconds / 1e6
	}
	return true
}

// sampled returns the phase that a sample is of. The seconds of one phase grow; where
// they do not, another of the same name began.
func (l *lane) sampled(s *scenarios.Sample) *PartialPhase {
	if l.at >= 0 && l.phases[l.at].Name == s.Phase && s.Seconds >= l.phases[l.at].Seconds {
		return l.phases[l.at]
	}
	for i := l.at + 1; i < len(l.phases); i++ {
		if l.phases[i].Name == s.Phase {
			l.at = i
			return l.phases[i]
		}
	}
	// Its event is lost.
	l.phases = append(l.phases, &PartialPhase{Pair: s.Pair, Name: s.Phase, Losses: []scenarios.Event{}})
	l.at = len(l.phases) - 1
	return l.phases[l.at]
}

// end says how far each pair was.
func (t *tale) end() {
	v := &t.p.Verdict
	*v = scenarios.Verdict{Result: Incomplete, Reasons: []string{"the run did not come to its end: it has no run.json"}, Checks: []scenarios.Check{}}
	for _, l := range t.pairs {
		for i, x := range l.phases {
			x.Ended = i < len(l.phases)-1 || l.settled
			t.p.Phases = append(t.p.Phases, *x)
		}
		if len(l.phases) == 0 {
			continue
		}
		last := l.phases[len(l.phases)-1]
		t.p.UnderWay = append(t.p.UnderWay, UnderWay{Pair: l.name, Phase: last.Name, Seconds: last.Seconds, Settling: l.settled})
	}
	switch {
	case t.p.LastSample != nil:
	case len(t.p.Phases) > 0:
		v.Reasons = append(v.Reasons, "it has no samples: it ended in the first second, or they could not be written")
	default:
		v.Reasons = append(v.Reasons, "it has neither samples nor the beginning of a phase: nothing is known to have been sent")
	}
}
