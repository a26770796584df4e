package scenarios

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"squall/internal/meter"
	"squall/internal/pace"
	"squall/internal/plan"
	"squall/internal/port"
	"squall/internal/probe"
	"squall/replay/lockstep"
	"squall/replay/sides"
)

// Lockstep is a replay whose frames wait for each other: see package lockstep.
type Lockstep struct {
	Script *lockstep.Script
	// Play says how; its Meters, Progress, Settle and Settling are the run's.
	Play lockstep.Options
	// Asked is the timing in the user's words.
	Asked string
	// MaxLoss is the share of the frames that may be lost in either direction, 0 to
	// 1, retries counted as frames; nil: any.
	MaxLoss *float64
}

// EngageLockstep opens the engines of both ports for RunLockstep: pairs are those
// from the client's port to the server's and back. Auto prefers xdp, which hands
// frames over as they come, to packet, whose reader takes up to 4 ms.
func EngageLockstep(pairs [2]*Pair) error {
	if name := pairs[0].config.Engine; name != "" && name != "auto" {
		e, err := known(name)
		if err != nil {
			return err
		}
		return engageBoth(e, pairs, "asked for")
	}
	var lacks []error
	for i := range engines {
		e := &engines[i]
		why := "auto: the fastest that reacts to arrivals"
		for _, lack := range lacks {
			why += fmt.Sprintf("; not %v", lack)
		}
		err := engageBoth(e, pairs, why)
		if err == nil {
			return nil
		}
		lacks = append(lacks, err)
	}
	return fmt.Errorf("no engine for lockstep: %w", errors.Join(lacks...))
}

// engageBoth opens one engine on both ports, or leaves nothing open.
func engageBoth(e *engine, pairs [2]*Pair, why string) (err error) {
	if e.both == nil {
		return fmt.Errorf("%s: sends whole plans and cannot wait for arrivals", e.name)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", e.name, err), pairs[0].disengage(), pairs[1].disengage())
		}
	}()
	for i, p := range pairs {
		info, err := p.TX.Inspect()
		if err != nil {
			return err
		}
		if err := errors.Join(e.supports(info), e.receives(info)); err != nil {
			return err
		}
		w, r, err := e.both(p.TX)
		if err != nil {
			return err
		}
		p.senders = []port.Sender{w}
		pairs[1-i].reader = r // it receives what the other port sends
		p.Engine, p.Receiver, p.Why, p.ReceiverWhy = e.name, e.name, why, "the engine of its port"
	}
	return nil
}

// step is a lockstep replay under way.
type step struct {
	Lockstep
	runs    [2]*run // from the client, from the server
	meters  [2]*meter.Stream
	account *lockstep.Account
}

// RunLockstep plays a script between the ports of two pairs, that from the client's
// port to the server's and the one back, which EngageLockstep has opened. Phases of
// the lanes' Configs are not used. The result has both directions as its Pairs, and
// Conversations.
func RunLockstep(ctx context.Context, lanes [2]Lane, l Lockstep) (*Result, error) {
	s := &step{Lockstep: l}
	tell := &teller{o: lanes[0].Config.Observer}
	for k := range lanes {
		lane := lanes[k]
		lane.Config.Observer = ofPair{tell, lane.name()}
		if err := s.prepare(sides.Side(k), lane); err != nil {
			return nil, err
		}
	}
	s.execute(ctx)
	results := []*Result{s.runs[0].result, s.runs[1].result}
	sum := sum(results)
	sum.Conversations = s.conversations()
	sum.Verdict.complete(sum.Conversations)
	return sum, nil
}

// prepare makes the run of one direction.
func (s *step) prepare(from sides.Side, l Lane) error {
	stream := &plan.Stream{ID: uint16(from) + 1, Name: from.String()}
	l.Config.Phases = []Phase{{
		Name: "lockstep", Plans: []*plan.Plan{{Streams: []*plan.Stream{stream}}}, Schedule: pace.Max{}, Asked: s.Asked, MaxLoss: s.MaxLoss,
	}}
	a := &accounts{lost: func(int, int, meter.LossPeriod) {}}
	m, err := meter.NewStream(a.configs(0, &l.Config.Phases[0])[0])
	if err != nil {
		return err
	}
	a.phases = [][]account{{m}}
	a.total = func(int) meter.Report { return meter.Total(m) }
	a.apart = func() meter.Apart { return s.apart(from.Other()) }
	a.fault = func() error { return nil }
	l.Pair.accounts = a
	s.meters[from] = m
	s.runs[from] = newRun(l.Pair, l.Config)
	s.runs[from].prepare()
	return nil
}

// apart returns the strays that came to one side.
func (s *step) apart(at sides.Side) (a meter.Apart) {
	for kind, n := range s.account.Strays[at] {
		a.Stray += n
		a.Strays = append(a.Strays, meter.StrayCount{EtherType: kind, Frames: n})
	}
	slices.SortFunc(a.Strays, func(x, y meter.StrayCount) int { return int(x.EtherType) - int(y.EtherType) })
	return a
}

// execute plays the script between two readings of all counters.
func (s *step) execute(ctx context.Context) {
	var before [2]probe.Reading
	for k, r := range s.runs {
		before[k] = s.read(r)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	unwatch := s.runs[0].watch(stop) // of both ports
	err := s.play(ctx)
	if err != nil {
		stop(err)
	}
	cause := context.Cause(ctx)
	s.runs[0].stopped(cause)
	lost := unwatch(cause)
	s.runs[1].result.Stopped = s.runs[0].result.Stopped
	for k, r := range s.runs {
		r.foreign = []uint64{0}
		r.blame(cause, lost)
		r.balance([][]port.Sent{{s.account.Sent[k]}}, probe.Delta(before[k], s.read(r)))
		judged := *r.result
		if s.account.Sent[k].Frames == 0 {
			judged.Phases = nil // a side may have nothing to say
		}
		r.result.Verdict = judge(&judged, r.Phases, r.Tolerance, r.void)
	}
}

// read reads all counters of a direction.
func (s *step) read(r *run) probe.Reading {
	all, err := readAll(append(r.pair.probes(), r.Probes...))
	r.warn(err)
	return all
}

// play plays the script on a thread of its own.
func (s *step) play(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	o := s.Play
	o.Meters = s.meters
	o.Settle = s.runs[0].Settle
	o.Settling = func() { s.runs[0].tell.event(Event{Event: EventSettle}) }
	var ends [2]lockstep.End
	for k, r := range s.runs {
		progress := make([]port.Progress, 1)
		o.Progress[k] = &progress[0]
		ends[k] = lockstep.End{W: r.pair.senders[0].(port.BatchWriter), R: s.runs[1-k].pair.reader}
		r.tell.event(Event{Event: EventPhase, Phase: r.Phases[0].Name, Text: s.Asked})
		sampler := sampler{run: r, progress: progress, start: time.Now()}
		defer sampler.begin()()
	}
	var err error
	s.account, err = s.Script.Play(ctx, ends, o)
	return err
}
