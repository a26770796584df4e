package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"squall/internal/ledger"
)

// Lane is one pair of ports of a run, and what goes from one to the other.
type Lane struct {
	Pair   *Pair
	Config Config
}

// RunPairs runs several pairs side by side, each with its own account and ledger.
// Their first phases begin at one time, that of Job.Start: schedules of several
// ports keep together for as long as none of them slips. It returns their sum with
// the single results in Pairs. One lane is a plain Run. The Observer of the first
// lane is told of all, each sample and event with its pair.
func RunPairs(ctx context.Context, lanes []Lane) (*Result, error) {
	if len(lanes) == 1 {
		return Run(ctx, lanes[0].Pair, lanes[0].Config)
	}
	tell := &teller{o: lanes[0].Config.Observer}
	results, errs := make([]*Result, len(lanes)), make([]error, len(lanes))
	var all sync.WaitGroup
	guests := newMeeting(len(lanes))
	for i, l := range lanes {
		l.Config.meet = &guests[i]
		l.Config.Observer = ofPair{tell, l.name()}
		all.Go(func() {
			defer guests[i].leave()
			if results[i], errs[i] = Run(ctx, l.Pair, l.Config); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", l.name(), errs[i])
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return sum(results), nil
}

func (l Lane) name() string {
	if l.Pair.RX == nil {
		return l.Pair.TX.Ref.String()
	}
	return l.Pair.TX.Ref.String() + " -> " + l.Pair.RX.Ref.String()
}

// ofPair tells of one pair among several.
type ofPair struct {
	tell *teller
	pair string
}

func (n ofPair) Sample(s Sample) {
	s.Pair = n.pair
	n.tell.sample(s)
}

func (n ofPair) Event(e Event) {
	e.Pair = n.pair
	n.tell.event(e)
}

// sum is the result of several pairs together: counts added up, of distributions
// the worst pair's, the gravest verdict. Bursts and single streams stand with their
// pairs.
func sum(results []*Result) *Result {
	first := results[0]
	r := &Result{Schema: Schema, Name: first.Name, Version: first.Version, Host: first.Host, Started: first.Started, Capture: first.Capture, Pairs: results}
	r.Ledger.Named = []ledger.Term{}
	r.Verdict = Verdict{Result: Pass, Reasons: []string{}, Checks: []Check{}}
	for i, x := range results {
		if i > 0 {
			r.TX += ", "
		}
		r.TX += x.TX
		if i > 0 && x.RX != "" {
			r.RX += ", "
		}
		r.RX += x.RX
		r.Stopped = r.Stopped || x.Stopped
		r.Foreign += x.Foreign
		for i := range x.Phases {
			if i == len(r.Phases) {
				r.Phases = append(r.Phases, PhaseResult{
					Name: x.Phases[i].Name, Engine: x.Phases[i].Engine, Asked: x.Phases[i].Asked, LossPeriods: []LossPeriod{}, Bursts: []Burst{},
				})
			}
			r.Phases[i].add(&x.Phases[i])
		}
		r.Ledger.Sent += x.Ledger.Sent
		r.Ledger.Received += x.Ledger.Received
		r.Ledger.Named = append(r.Ledger.Named, x.Ledger.Named...)
		r.Ledger.Unexplained += x.Ledger.Unexplained
		r.Verdict.add(x)
	}
	return r
}

// add counts another pair's phase in.
func (p *PhaseResult) add(x *PhaseResult) {
	p.AskedPPS += x.AskedPPS
	p.AchievedPPS += x.AchievedPPS
	p.AchievedMbit += x.AchievedMbit
	p.Seconds = max(p.Seconds, x.Seconds)
	if p.Began.IsZero() || x.Began.Before(p.Began) {
		p.Began = x.Began
	}
	if x.Ended.After(p.Ended) {
		p.Ended = x.Ended
	}
	p.Sent += x.Sent
	p.SentBytes += x.SentBytes
	p.Retries += x.Retries
	p.Failed += x.Failed
	p.Received += x.Received
	p.Lost += x.Lost
	p.Duplicated += x.Duplicated
	p.Reordered += x.Reordered
	p.Late += x.Late
	p.Foreign += x.Foreign
	p.LossPeriodCount += x.LossPeriodCount
	p.BurstCount += x.BurstCount
	p.Impaired = p.Impaired.add(x.Impaired)
	p.Slipped = max(p.Slipped, x.Slipped)
	if p.Latency.Min == 0 || x.Latency.Min > 0 && x.Latency.Min < p.Latency.Min {
		p.Latency.Min = x.Latency.Min
	}
	p.Latency.P50 = max(p.Latency.P50, x.Latency.P50)
	p.Latency.P99 = max(p.Latency.P99, x.Latency.P99)
	p.Latency.P999 = max(p.Latency.P999, x.Latency.P999)
	p.Latency.Max = max(p.Latency.Max, x.Latency.Max)
	p.SendError = p.SendError.worse(x.SendError)
}

func (e SendError) worse(x SendError) SendError {
	return SendError{P50: max(e.P50, x.P50), P99: max(e.P99, x.P99), P999: max(e.P999, x.P999), Max: max(e.Max, x.Max)}
}

// add counts another pair's verdict in.
func (v *Verdict) add(x *Result) {
	grave := map[string]int{Pass: 0, Fail: 1, Void: 2}
	if grave[x.Verdict.Result] > grave[v.Result] {
		v.Result = x.Verdict.Result
	}
	for _, why := range x.Verdict.Reasons {
		v.Reasons = append(v.Reasons, x.TX+": "+why)
	}
	for _, c := range x.Verdict.Checks {
		c.Metric = x.TX + ": " + c.Metric
		v.Checks = append(v.Checks, c)
	}
}
