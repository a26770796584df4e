package main

import (
	"fmt"
	"os"
	"os/exec"
	"text/tabwriter"

	"squall/internal/lab"
)

// replayTop compares the replay of 20,000 frames at top speed.
func replayTop(e *env) error {
	pair, err := lab.NewPair(lab.Config{GRO: true})
	if err != nil {
		return err
	}
	defer pair.Close()
	undo, err := dropAll(pair.B)
	if err != nil {
		return err
	}
	defer undo()
	fmt.Printf("\nReplay of a 20,000-frame capture at top speed into XDP_DROP, one core, rates from va's own counter (kpps: median, min to max of %d)\n", e.rounds)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "frames\tsquall live\ttcpreplay -t -K\tratio\t")
	_, missing := exec.LookPath("tcpreplay")
	for _, size := range []string{"64", "imix", "1518"} {
		path, err := e.capture(pair, size)
		if err != nil {
			return err
		}
		ours := func() (float64, error) {
			return measure(pair, e.span, e.squall, "replay", path, "--tx", pair.A.NS.Path()+":va", "--engine", "live", "--topspeed", "--loop", "1000000",
				"--duration", (e.span * 4).String(), "--quiet", "--out", e.fresh())
		}
		theirs := func() (float64, error) {
			return measure(pair, e.span, "tcpreplay", "--intf1=va", "--topspeed", "-K", "--loop=100000", "--quiet", path)
		}
		if missing != nil {
			a, err := inTurn(e.rounds, ours)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s\t%s\tnot installed\t-\t\n", size, a[0])
			continue
		}
		all, err := inTurn(e.rounds, ours, theirs)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%.1f\t\n", size, all[0], all[1], all[0].median()/all[1].median())
	}
	return out.Flush()
}
