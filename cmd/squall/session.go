package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"squall/internal/lab"
	"squall/internal/report"
	"squall/scenarios"
)

// config returns what every run of a pair has: what is known of the way between
// its ports. done gives back what was opened for it.
func config(name string, pair *scenarios.Pair) (c scenarios.Config, done func()) {
	c = scenarios.Config{Name: name, Joined: pair.Joined()}
	if pair.RX == nil {
		return c, func() {}
	}
	r := lab.Between(pair.TX.Ref.NetNS, pair.RX.Ref.NetNS)
	if r == nil {
		return c, func() {}
	}
	c.Joined, c.DUT, c.Probes = true, routerHops(r.NS, r.In, r.Out), r.Probes()
	return c, func() { r.NS.Close() }
}

// session runs scenarios and keeps and prints what comes of them.
type session struct {
	flags    *runFlags
	cmd      *cobra.Command
	scenario []byte // scenario.yaml
}

// run runs all pairs. It returns a verdictError unless the run passed.
func (s *session) run(lanes ...scenarios.Lane) error {
	for _, l := range lanes {
		if err := l.Pair.Engage(l.Config.Phases); err != nil {
			return err
		}
	}
	return s.keep(scenarios.RunPairs, lanes)
}

// keep does a run of engaged pairs and keeps and prints what comes of it.
func (s *session) keep(run func(context.Context, []scenarios.Lane) (*scenarios.Result, error), lanes []scenarios.Lane) error {
	first := &lanes[0].Config
	path := s.flags.out
	if path == "" {
		path = report.DefaultPath(first.Name, time.Now())
	}
	dir, err := report.Create(path)
	if err != nil {
		return err
	}
	dir.Scenario(s.scenario)
	shown := newProgress(s.cmd.ErrOrStderr(), s.flags.quiet, first.Phases)
	for i := range lanes {
		p, c := lanes[i].Pair, &lanes[i].Config
		shown.note("%s: engine %s (%s)", p.TX.Ref, p.Engine, p.Why)
		if p.RX != nil {
			shown.note("%s: receiver %s (%s)", p.RX.Ref, p.Receiver, p.ReceiverWhy)
		}
		c.Version = version()
		c.Settle, c.CatchUp, c.Tolerance = s.flags.settle, s.flags.catchUp, s.flags.tolerance/100
		c.Observer = observers{dir, shown}
	}
	ctx, stop := s.interruptible(dir)
	defer stop()
	if s.flags.stop != nil {
		ended, end := context.WithCancel(ctx)
		defer end()
		go func() {
			select {
			case <-s.flags.stop:
				end()
			case <-ended.Done():
			}
		}()
		ctx = ended
	}
	r, err := run(ctx, lanes)
	if err != nil {
		return errors.Join(err, dir.Discard())
	}
	shown.end()
	dir.Result(r)
	incomplete := dir.Close()
	if incomplete != nil {
		r.Warnings = append(r.Warnings, incomplete.Error())
	}
	if err := s.print(s.cmd.OutOrStdout(), r); err != nil {
		return err
	}
	if incomplete == nil {
		shown.note("kept in %s", dir.Path)
	}
	if r.Verdict.Result != scenarios.Pass {
		return verdictError{r.Verdict.Result}
	}
	return incomplete
}

// interruptible is as the function of that name, and the second signal, which ends
// the program at once, leaves a word of where the run's files are.
func (s *session) interruptible(dir *report.Dir) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
			return
		}
		again, ok := <-signals
		if !ok {
			return
		}
		fmt.Fprintf(s.cmd.ErrOrStderr(), "\nsquall: %v again: ended at once; squall report %s prints what had happened\n", again, dir.Path)
		signal.Reset(again)
		syscall.Kill(os.Getpid(), again.(syscall.Signal))
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
		close(signals)
	}
}

func (s *session) print(w io.Writer, r *scenarios.Result) error {
	if s.flags.json {
		return report.JSON(w, r)
	}
	if err := report.Text(w, r); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// observers tells several of what happens.
type observers []scenarios.Observer

func (o observers) Sample(s scenarios.Sample) {
	for _, x := range o {
		x.Sample(s)
	}
}

func (o observers) Event(e scenarios.Event) {
	for _, x := range o {
		x.Event(e)
	}
}
