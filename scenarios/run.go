package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"squall/internal/ledger"
	"squall/internal/meter"
	"squall/internal/pace"
	"squall/internal/port"
	"squall/internal/probe"
)

// Config is what a run does.
type Config struct {
	Name    string
	Version string
	Phases  []Phase
	// DUT are the hops between the ports where they are known (in the lab), and
	// Probes the readers of their counters.
	DUT    []ledger.Hop
	Probes []probe.Probe
	// Joined: the next hop behind the sending port, the receiving port or the
	// first of DUT, is the other end of its cable and sees the same losses (a veth
	// pair).
	Joined bool
	// Settle is how long nothing may arrive before a run counts as over. 0: 300
	// ms.
	Settle time.Duration
	// CatchUp bounds what a stalled sender makes good; 0: pace.DefaultCatchUp.
	CatchUp time.Duration
	// Tolerance is the share of a phase's rate that squall may fall short by; 0:
	// DefaultTolerance.
	Tolerance float64
	// Warnings are known before the run and stand in its result; so does Capture.
	Warnings []string
	Capture  *Capture
	Observer Observer // nil: nobody

	// meet, of several runs, has their first phases begin at one time.
	meet *guest
}

// settleMost bounds the settling, beyond Config.Settle: a DUT that still delivers
// after it is cut off there, and what comes later is unexplained.
const settleMost = 30 * time.Second

// run is the state of one run.
type run struct {
	Config
	pair     *Pair
	accounts *accounts
	bursts   [][]*bursts // as accounts.phases
	intents  [][]*intent // a plan of each phase; nil: it leaves as it is
	tell     teller
	wall     int64 // CLOCK_REALTIME less CLOCK_MONOTONIC, ns
	result   *Result
	void     []string
	foreign  []uint64 // other runs' frames seen by the end of each phase
}

// Run sends the phases and returns their account. Cancelling ctx ends the
// sending; the account is then of what was sent. An error means that there is no
// account at all.
func Run(ctx context.Context, pair *Pair, c Config) (*Result, error) {
	if err := pair.Engage(c.Phases); err != nil {
		return nil, err
	}
	r := newRun(pair, c)
	r.prepare()
	r.execute(ctx)
	r.result.Verdict = judge(r.result, c.Phases, r.Tolerance, r.void)
	return r.result, nil
}

// newRun is a run of an engaged pair that has not begun.
func newRun(pair *Pair, c Config) *run {
	if c.Settle <= 0 {
		c.Settle = 300 * time.Millisecond
	}
	if c.Tolerance <= 0 {
		c.Tolerance = DefaultTolerance
	}
	host, _ := os.Hostname()
	r := &run{Config: c, pair: pair, tell: teller{o: c.Observer}, wall: pace.Realtime()}
	r.result = &Result{Schema: Schema, Name: c.Name, Version: c.Version, Host: host, Started: time.Now().UTC(), TX: pair.TX.Ref.String(), Warnings: c.Warnings, Capture: c.Capture}
	if pair.RX != nil {
		r.result.RX = pair.RX.Ref.String()
	}
	r.accounts = pair.accounts
	return r
}

// prepare has loss periods joined into bursts.
func (r *run) prepare() {
	for i := range r.Phases {
		r.intents = append(r.intents, r.Phases[i].intents())
		var of []*bursts
		for range r.Phases[i].streams() {
			of = append(of, &bursts{wall: r.wall, closed: func(b Burst) {
				until := b.At.Add(time.Duration(math.Round(b.Seconds * 1e9)))
				r.tell.event(Event{Time: b.At, Event: EventLoss, Phase: r.Phases[i].Name, Frames: b.Frames, First: b.First, Until: &until,
					Text: fmt.Sprintf("%d frames lost in %d periods, the longest %d", b.Frames, b.Periods, b.Longest)})
			}})
		}
		r.bursts = append(r.bursts, of)
	}
	r.accounts.lost = func(phase, stream int, p meter.LossPeriod) {
		if p, ok := r.unintended(phase, stream, p); ok {
			r.bursts[phase][stream].add(p)
		}
	}
}

// execute is steps 2 to 6 of the package comment.
func (r *run) execute(ctx context.Context) {
	probes := append(r.pair.probes(), r.Probes...)
	before, err := readAll(probes)
	r.warn(err)

	ctx, stopSending := context.WithCancelCause(ctx)
	defer stopSending(nil)
	unwatch := r.watch(stopSending)

	endReceiving := r.receive(stopSending)

	var sent [][]port.Sent
	for i := range r.Phases {
		s, err := r.send(ctx, i)
		sent = append(sent, s)
		r.foreign = append(r.foreign, r.accounts.foreigners())
		if err != nil {
			stopSending(err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	r.stopped(context.Cause(ctx))
	r.settle()
	lost := unwatch(context.Cause(ctx))
	if err := endReceiving(); err != nil {
		lost = append(lost, err)
	}
	r.foreign[len(r.foreign)-1] = r.accounts.foreigners()
	after, err := readAll(probes)
	r.warn(err)
	r.blame(context.Cause(ctx), lost)
	r.balance(sent, probe.Delta(before, after))
}

// readAll reads all probes. A driver's own counters repeat some of the kernel's by
// the same name: those of the probe that comes first stand.
func readAll(probes []probe.Probe) (probe.Reading, error) {
	all, err := probe.Set{Title: "all", Probes: probes}.Read()
	type key struct{ where, name string }
	seen := make(map[key]bool, len(all.Counters))
	all.Counters = slices.DeleteFunc(all.Counters, func(c probe.Counter) bool {
		k := key{c.Where, c.Name}
		again := seen[k]
		seen[k] = true
		return again
	})
	return all, err
}

// stopped notes why sending ended before its time.
func (r *run) stopped(err error) {
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		r.result.Stopped = true
		r.tell.event(Event{Event: EventStop, Text: "stopped by the user"})
	default:
		r.tell.event(Event{Event: EventError, Text: err.Error()})
	}
}

// blame notes why the run is void: what ended it, though nobody asked for it,
// and the links or the receiver that were lost, also while it settled.
func (r *run) blame(cause error, lost []error) {
	if cause != nil && !errors.Is(cause, context.Canceled) {
		lost = append([]error{cause}, lost...)
	}
	for _, err := range lost {
		if !slices.Contains(r.void, err.Error()) {
			r.void = append(r.void, err.Error())
		}
	}
}

// warn notes something that did not work and does not end the run.
func (r *run) warn(err error) {
	if err != nil {
		r.result.Warnings = append(r.result.Warnings, err.Error())
		r.tell.event(Event{Event: EventError, Text: err.Error()})
	}
}

// settle waits until no frame of the run has arrived for a while. What others
// send to the receiving port may go on.
func (r *run) settle() {
	r.tell.event(Event{Event: EventSettle})
	if r.pair.RX == nil {
		return
	}
	last, quiet := r.accounts.arrived(), time.Now()
	for end := quiet.Add(r.Settle + settleMost); time.Now().Before(end) && time.Since(quiet) < r.Settle; {
		time.Sleep(10 * time.Millisecond)
		if n := r.accounts.arrived(); n != last {
			last, quiet = n, time.Now()
		}
	}
}
