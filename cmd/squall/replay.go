package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"squall/internal/pace"
	"squall/internal/plan"
	"squall/replay"
	"squall/scenarios"
)

// replayFlags say how a capture is replayed.
type replayFlags struct {
	pair pairFlags
	run  runFlags

	speed    string
	rate     string
	top      bool
	loop     uint64
	loopGap  time.Duration
	duration time.Duration
}

func newReplay() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay CAPTURE --tx PORT [--rx PORT] [flags]",
		Short: "Replay a capture",
		Long: `replay sends the frames of a pcap or pcapng capture from one port, at their own
times unless told otherwise, and matches what arrives on another by content.

Frames that were cut short by the snap length, are longer than the port's MTU
allows or shorter than an Ethernet header are left out and counted. A capture that
ends in the middle of a record and link types other than Ethernet are refused.`,
		Example: `  squall replay calls.pcapng --tx eth1 --rx eth2
  squall replay calls.pcap --tx eth1 --rx eth2 --speed 0.5 --loop 10
  squall replay calls.pcap --tx eth1 --rate 10kpps`,
		Args: oneArg("a capture"),
		RunE: func(c *cobra.Command, args []string) error { return f.exec(c, args[0]) },
	}
	f.pair.add(c)
	f.run.add(c)
	fs := c.Flags()
	fs.StringVar(&f.speed, "speed", "", "play the capture's own timing `N` times as fast; 0.5 is half speed")
	fs.StringVar(&f.rate, "rate", "", "send evenly at this `rate` instead: 1.2Mpps, 940Mbit, 80%")
	fs.BoolVar(&f.top, "topspeed", false, "send as fast as the engine can")
	fs.Uint64Var(&f.loop, "loop", 1, "play the capture `N` times")
	fs.DurationVar(&f.loopGap, "loop-gap", 0, "pause between two passes, beyond the capture's mean gap")
	fs.DurationVar(&f.duration, "duration", 0, "end after this time")
	return c
}

func (f *replayFlags) exec(c *cobra.Command, path string) error {
	if err := f.run.check(); err != nil {
		return err
	}
	switch {
	case f.loop == 0:
		return errors.New("--loop 0: need at least one pass")
	case c.Flags().Changed("duration") && f.duration <= 0:
		return fmt.Errorf("--duration %v: need a time above 0", f.duration)
	}
	pairs, err := f.pair.open()
	if err != nil {
		return err
	}
	defer closeAll(pairs)
	if len(pairs) > 1 {
		return errors.New("a replay has one --tx")
	}
	pair := pairs[0]
	p, sum, err := replay.Compile(path, replay.Options{MTU: pair.TX.MTU})
	if err != nil {
		return err
	}
	p.Streams[0].ID = 1
	timing := replay.Timing{Speed: f.speed, TopSpeed: f.top, LoopGap: f.loopGap, Link: pair.TX.LinkBits}
	if f.rate != "" {
		if timing.Rate, err = pace.ParseRate(f.rate); err != nil {
			return err
		}
	}
	schedule, err := replay.Schedule(p, timing)
	if err != nil {
		return err
	}
	phase := scenarios.Phase{Name: "replay", Plans: []*plan.Plan{p}, Schedule: schedule, Asked: f.asked(), Count: sum.Frames * f.loop, Duration: f.duration, MaxLoss: f.run.loss()}
	s := session{flags: &f.run, cmd: c, scenario: []byte("# " + strings.Join(os.Args, " ") + "\n")}
	conf, done := config("replay", pair)
	defer done()
	conf.Phases, conf.Warnings = []scenarios.Phase{phase}, captureNotes(path, sum)
	return s.run(scenarios.Lane{Pair: pair, Config: conf})
}

// asked is the timing in the report's words.
func (f *replayFlags) asked() string {
	switch {
	case f.top:
		return "top speed"
	case f.rate != "":
		return f.rate
	case f.speed != "":
		return "speed " + f.speed
	}
	return "as captured"
}

// captureNotes are what a reader of the report has to know of the capture.
func captureNotes(path string, sum replay.Summary) []string {
	var notes []string
	note := func(n uint64, what string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d of %d frames %s", path, n, sum.Records, what))
		}
	}
	note(sum.Cut, "left out: cut short by the snap length")
	note(sum.Long, "left out: longer than the port's MTU allows")
	note(sum.Short, "left out: shorter than an Ethernet header")
	note(sum.Backwards, "are stamped before the frame in front of them and go with it")
	return notes
}
