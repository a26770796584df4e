package probe

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// scripted is a probe that answers as a function of the number of the reading,
// from 0.
type scripted struct {
	name   string
	turn   atomic.Int64
	answer func(turn int64) (Reading, error)
	closed atomic.Bool
}

func (s *scripted) Name() string           { return s.name }
func (s *scripted) Read() (Reading, error) { return s.answer(s.turn.Add(1) - 1) }
func (s *scripted) Close() error           { s.closed.Store(true); return nil }
func answers(v uint64) (Reading, error) {
	return Reading{At: now(), Counters: []Counter{n("c", v)}}, nil
}
func counting(turn int64) (Reading, error) { return answers(uint64(turn)) }
func status(p *Poller, probe string) (s Status) {
	for _, s := range p.Status() {
		if s.Probe == probe {
			return s
		}
	}
	return Status{}
}

// until waits for a condition; how fast it comes is no matter.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in a minute: %s", what)
		}
	}
}

// stop stops a poller, and fails where that takes long.
func stop(t *testing.T, p *Poller) {
	t.Helper()
	done := make(chan struct{})
	go func() { p.Stop(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("Stop does not return")
	}
}

// A probe that hangs is absent, once; its neighbour does not notice, and Stop
// returns.
func TestPollerHangs(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	hung := &scripted{name: "hung", answer: func(int64) (Reading, error) { <-release; return Reading{}, errors.New("late") }}
	good := &scripted{name: "good", answer: counting}
	var mu sync.Mutex
	var told []Event
	p := NewPoller(func(e Event) { mu.Lock(); told = append(told, e); mu.Unlock() },
		Entry{Probe: hung, Every: time.Millisecond, Patience: 5 * time.Millisecond},
		Entry{Probe: good, Every: time.Millisecond})
	p.Start()
	until(t, "readings of the one while the other is absent", func() bool {
		s := status(p, "hung")
		return s.State == Absent && s.Skipped > 3 && status(p, "good").Readings > 20
	})
	if _, missing := p.Edge(20 * time.Millisecond); !cmp.Equal(missing, []string{"hung"}) && len(missing) != 2 {
		t.Errorf("Edge: have %q missing, want hung", missing)
	}
	stop(t, p)
	if hung.turn.Load() != 1 {
		t.Errorf("readings begun of a probe that hangs: have %d, want 1", hung.turn.Load())
	}
	if !good.closed.Load() || !hung.closed.Load() {
		t.Error("not closed")
	}
	want := []Event{{Probe: "hung", State: Absent, What: "no answer for 5ms"}}
	if diff := cmp.Diff(want, p.Events(), cmpopts.IgnoreFields(Event{}, "At")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(p.Events(), told); diff != "" {
		t.Errorf("told (-events +told):\n%s", diff)
	}
}

// Absence is told when it begins and when it ends.
func TestPollerEvents(t *testing.T) {
	flaky := &scripted{name: "flaky", answer: func(turn int64) (Reading, error) {
		r, _ := counting(turn)
		switch {
		case turn < 3, turn >= 10:
			return r, nil
		case turn < 6:
			return r, fmt.Errorf("half of it, turn %d", turn)
		}
		return Reading{}, fmt.Errorf("no route to host, turn %d", turn)
	}}
	p := NewPoller(nil, Entry{Probe: flaky, Every: time.Millisecond})
	p.Start()
	until(t, "the end of the script", func() bool { return flaky.turn.Load() > 15 })
	stop(t, p)
	events := p.Events()
	want := []Event{
		{Probe: "flaky", State: Partial, What: "half of it, turn 3"},
		{Probe: "flaky", State: Absent, What: "no route to host, turn 6"},
		{Probe: "flaky", State: Present, What: "back after"},
	}
	for i := range events {
		events[i].What, _, _ = strings.Cut(events[i].What, " after ")
		if events[i].State == Present {
			events[i].What += " after"
		}
		if events[i].Since == 0 || events[i].At < events[i].Since {
			t.Errorf("event %d: at %d, since %d", i, events[i].At, events[i].Since)
		}
	}
	if diff := cmp.Diff(want, events, cmpopts.IgnoreFields(Event{}, "At", "Since")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if s := status(p, "flaky"); s.Failed != 4 || s.State != Present || s.What != "" || s.Readings < 6 {
		t.Errorf("status: have %+v, want 4 failed", s)
	}
}

// A reading that takes longer than its interval skips those that were due.
func TestPollerSkips(t *testing.T) {
	tick := make(chan struct{})
	slow := &scripted{name: "slow", answer: func(turn int64) (Reading, error) { <-tick; return counting(turn) }}
	p := NewPoller(nil, Entry{Probe: slow, Every: time.Millisecond, Patience: time.Hour})
	p.Start()
	until(t, "skipped readings", func() bool { return status(p, "slow").Skipped >= 5 })
	close(tick)
	until(t, "readings", func() bool { return status(p, "slow").Readings >= 3 })
	stop(t, p)
	if len(p.Events()) != 0 {
		t.Errorf("events: have %v, want none", p.Events())
	}
}

// Edges are read beside the clock, and make a span exact.
func TestPollerBetween(t *testing.T) {
	var packets, softirq, idle atomic.Uint64
	dut := &scripted{name: "dut", answer: func(int64) (Reading, error) {
		return Reading{At: now(), Counters: []Counter{
			{Where: "eth1", Name: "packets", Value: packets.Load(), Bits: 64},
			{Where: "eth1", Name: "carrier", Value: 1, Level: true},
			{Where: "eth1", Name: "errors", Value: 5},
			{Where: "cpu", Name: "cpu.softirq", Value: softirq.Load(), Of: "cpu"},
			{Where: "cpu", Name: "cpu.idle", Value: idle.Load(), Of: "cpu"},
		}}, nil
	}}
	down := &scripted{name: "down", answer: func(int64) (Reading, error) { return Reading{}, errors.New("down") }}
	p := NewPoller(nil, Entry{Probe: dut, Every: time.Hour}, Entry{Probe: down, Every: time.Hour})
	p.Start()
	until(t, "the first reading", func() bool { return status(p, "dut").Readings == 1 })
	edge := func() int64 {
		t.Helper()
		at, missing := p.Edge(time.Minute)
		if !cmp.Equal(missing, []string{"down"}) {
			t.Fatalf("Edge: have %q missing, want down", missing)
		}
		return at
	}
	begin := edge()
	packets.Add(1000)
	softirq.Add(25)
	idle.Add(75)
	middle := edge()
	packets.Add(500)
	idle.Add(100)
	end := edge()

	spans := p.Between(begin, end)
	if len(spans) != 2 || len(spans[1].Changes) != 0 || spans[1].Probe != "down" {
		t.Fatalf("spans: have %+v", spans)
	}
	if s := spans[0]; s.From < begin || s.From > middle || s.To < end || s.From >= s.To || s.Seconds() != float64(s.To-s.From)/1e9 {
		t.Errorf("span from %d to %d, asked for %d to %d", s.From, s.To, begin, end)
	}
	want := []Change{
		{Where: "eth1", Name: "packets", After: 1500, Moved: 1500},
		{Where: "eth1", Name: "carrier", Before: 1, After: 1, Level: true},
		{Where: "eth1", Name: "errors", Before: 5, After: 5},
		{Where: "cpu", Name: "cpu.softirq", After: 25, Moved: 25, Of: "cpu", Share: 12.5},
		{Where: "cpu", Name: "cpu.idle", After: 175, Moved: 175, Of: "cpu", Share: 87.5},
	}
	if diff := cmp.Diff(want, spans[0].Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	var names []string
	for _, c := range p.Moved(middle, end) {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"cpu.idle", "packets"}, names); diff != "" {
		t.Errorf("Moved (-want +got):\n%s", diff)
	}

	series := p.Series(begin, spans[0].To, func(_, name string) bool { return name != "errors" })
	values := map[string][]float64{}
	for _, s := range series {
		for _, pt := range s.Points {
			v := pt.Value
			if s.Name == "packets" { // a rate: back to the count
				v *= float64(pt.To-pt.From) / 1e9
			}
			values[s.Name] = append(values[s.Name], math.Round(v*1e6)/1e6)
		}
	}
	wantValues := map[string][]float64{"packets": {1000, 500}, "carrier": {1, 1}, "cpu.softirq": {25, 0}, "cpu.idle": {75, 100}}
	if diff := cmp.Diff(wantValues, values); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	stop(t, p)
	if spans := p.Between(begin, end); len(spans[0].Changes) != len(want) {
		t.Errorf("after Stop: have %+v", spans)
	}
	if _, missing := p.Edge(time.Minute); len(missing) != 2 {
		t.Errorf("Edge after Stop: have %q missing, want both", missing)
	}
}
