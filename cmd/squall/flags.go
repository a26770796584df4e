package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"squall/internal/port"
	"squall/scenarios"
)

// pairFlags name the ports and the engine.
type pairFlags struct {
	tx, rx     string
	engine     string
	management bool
}

func (f *pairFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.tx, "tx", "", "port to send from, `[NETNS:]IFACE`")
	fs.StringVar(&f.rx, "rx", "", "port to receive on, `[NETNS:]IFACE`; without it nothing is known of what arrived")
	fs.StringVar(&f.engine, "engine", "auto", "how frames are sent: `auto|packet`")
	fs.BoolVar(&f.management, "allow-management", false, "use a port even if it carries the default route or the machine's only address")
}

func (f *pairFlags) open() (*scenarios.Pair, error) {
	if f.tx == "" {
		return nil, errors.New("no port to send from: give --tx [NETNS:]IFACE (squall ports lists them)")
	}
	c := scenarios.PairConfig{Engine: f.engine, AllowManagement: f.management}
	var err error
	if c.TX, err = port.ParseRef(f.tx); err != nil {
		return nil, err
	}
	if f.rx != "" {
		rx, err := port.ParseRef(f.rx)
		if err != nil {
			return nil, err
		}
		c.RX = &rx
	}
	return scenarios.OpenPair(c)
}

// runFlags say how a run is judged, kept and shown.
type runFlags struct {
	out       string
	json      bool
	quiet     bool
	tolerance float64
	maxLoss   float64
	anyLoss   bool
	settle    time.Duration
	catchUp   time.Duration
}

func (f *runFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.out, "out", "", "run `directory`; it must be empty or new (default runs/TIME-NAME)")
	fs.BoolVar(&f.json, "json", false, "print run.json on stdout instead of the report")
	fs.BoolVar(&f.quiet, "quiet", false, "no progress on stderr")
	fs.Float64Var(&f.tolerance, "tolerance", 100*scenarios.DefaultTolerance, "how many `percent` squall may fall short of the asked rate before the run is void")
	fs.Float64Var(&f.maxLoss, "max-loss", 0, "how many `percent` of the frames may be lost before the run fails")
	fs.BoolVar(&f.anyLoss, "any-loss", false, "do not fail however many frames are lost")
	fs.DurationVar(&f.settle, "settle", 300*time.Millisecond, "a run is over when nothing has arrived for this long")
	fs.DurationVar(&f.catchUp, "catch-up", 50*time.Millisecond, "how much of its schedule squall may make good after it was held up; the rest is given up and reported")
}

func (f *runFlags) check() error {
	switch {
	case !(f.tolerance > 0 && f.tolerance < 100):
		return fmt.Errorf("--tolerance %g: need more than 0 and less than 100 percent", f.tolerance)
	case !(f.maxLoss >= 0 && f.maxLoss <= 100):
		return fmt.Errorf("--max-loss %g: need 0 to 100 percent", f.maxLoss)
	case f.settle <= 0:
		return fmt.Errorf("--settle %v: need a time above 0", f.settle)
	case f.catchUp <= 0:
		return fmt.Errorf("--catch-up %v: need a time above 0", f.catchUp)
	}
	return nil
}

// loss returns the limit of a phase.
func (f *runFlags) loss() *float64 {
	if f.anyLoss {
		return nil
	}
	limit := f.maxLoss / 100
	return &limit
}
