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
	tx, rx     []string
	engine     string
	receiver   string
	cores      int
	management bool
}

func (f *pairFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringArrayVar(&f.tx, "tx", nil, "port to send from, `[NETNS:]IFACE`; several, each with its --rx, run side by side")
	fs.StringArrayVar(&f.rx, "rx", nil, "port to receive on, `[NETNS:]IFACE`; without it nothing is known of what arrived")
	fs.StringVar(&f.engine, "engine", "auto", "how frames are sent: `auto|packet|xdp|live`")
	fs.StringVar(&f.receiver, "rx-engine", "auto", "how frames are counted: `auto|packet|xdp|live` (live: in the kernel)")
	fs.IntVar(&f.cores, "cores", 1, "how many cores send, each with its own queue and sequence numbers")
	fs.BoolVar(&f.management, "allow-management", false, "use a port even if it carries the default route or the machine's only address")
}

// open opens all pairs, or none.
func (f *pairFlags) open() (pairs []*scenarios.Pair, err error) {
	switch {
	case len(f.tx) == 0:
		return nil, errors.New("no port to send from: give --tx [NETNS:]IFACE (squall ports lists them)")
	case len(f.rx) > 0 && len(f.rx) != len(f.tx):
		return nil, fmt.Errorf("have %d --tx and %d --rx: give one --rx for each --tx, in the same order, or none", len(f.tx), len(f.rx))
	case f.cores < 1:
		return nil, fmt.Errorf("--cores %d: need at least one", f.cores)
	}
	defer func() {
		if err != nil {
			closeAll(pairs)
		}
	}()
	for i, tx := range f.tx {
		c := scenarios.PairConfig{Engine: f.engine, Receiver: f.receiver, Cores: f.cores, FirstCore: i * f.cores, AllowManagement: f.management}
		if c.TX, err = port.ParseRef(tx); err != nil {
			return pairs, err
		}
		if len(f.rx) > 0 {
			rx, err := port.ParseRef(f.rx[i])
			if err != nil {
				return pairs, err
			}
			c.RX = &rx
		}
		p, err := scenarios.OpenPair(c)
		if err != nil {
			return pairs, err
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func closeAll(pairs []*scenarios.Pair) {
	for _, p := range pairs {
		p.Close()
	}
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

	stop <-chan struct{} // ends the sending when it is closed; nil: nothing does
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
