package scenarios

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"squall/internal/lab"
	"squall/internal/pace"
	"squall/internal/port"
)

// note is a sender that notes its job.
type note struct {
	port.Sender
	mu    *sync.Mutex
	jobs  *[]port.Job
	ready *[]int64
}

func (n note) Send(ctx context.Context, j port.Job) (port.Sent, error) {
	n.mu.Lock()
	*n.jobs, *n.ready = append(*n.jobs, j), append(*n.ready, pace.Now())
	n.mu.Unlock()
	return n.Sender.Send(ctx, j)
}

// Several pairs begin at one time, which comes after all of them are ready.
func TestPairsBeginTogether(t *testing.T) {
	b := cableSides(t)
	var (
		mu    sync.Mutex
		jobs  []port.Job
		ready []int64
		lanes []Lane
	)
	for k, way := range []bed{b.bed, b.back} {
		p := way.open(t, true)
		ph := way.replayPhase(t, p, uint16(k)+1, 100, 1)
		if err := p.Engage([]Phase{ph}); err != nil {
			t.Fatal(err)
		}
		p.senders[0] = note{p.senders[0], &mu, &jobs, &ready}
		c := way.config
		c.Phases = []Phase{ph}
		lanes = append(lanes, Lane{p, c})
	}
	r, err := RunPairs(t.Context(), lanes)
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) != 2 || jobs[0].Start == 0 || jobs[0].Start != jobs[1].Start {
		t.Fatalf("starts %+v: want one time for both", jobs)
	}
	if early := jobs[0].Start - max(ready[0], ready[1]); early > int64(lead) {
		t.Errorf("the start is %d ns after the last was ready, want at most %v", early, lead)
	}
	for _, p := range r.Pairs {
		balanced(t, p)
	}
}

func TestMeeting(t *testing.T) {
	g := newMeeting(3)
	starts := make(chan int64, 2)
	for i := range 2 {
		go func() {
			starts <- g[i].wait()
			g[i].leave()
		}()
	}
	g[2].leave() // it failed before it came
	if a, b := <-starts, <-starts; a != b || a == 0 {
		t.Errorf("starts %d and %d, want one time", a, b)
	}
}

// A pair that cannot begin does not keep the others waiting.
func TestPairFails(t *testing.T) {
	b := newCable(t, lab.Config{})
	back := b
	back.tx, back.rx = b.rx, b.tx
	p, q := b.open(t, true), back.open(t, true)
	ph := b.replayPhase(t, p, 1, 10, 1)
	c := b.config
	c.Phases = []Phase{ph}
	done := make(chan error, 1)
	go func() {
		_, err := RunPairs(t.Context(), []Lane{{p, c}, {q, Config{}}})
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error(errors.New("a run without phases was taken"))
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the other pair waits for the one that failed")
	}
}
