package main

import (
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"squall/internal/lab"
)

// throughput compares the packet engine with trafgen at full speed, each frame
// with fields of its own.
func throughput(e *env) error {
	pair, err := lab.NewPair(lab.Config{})
	if err != nil {
		return err
	}
	defer pair.Close()
	fmt.Printf("Full speed, one core, each frame with its own number, port and right checksum (kpps: median, min to max of %d)\n", e.rounds)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "size\tsquall packet\ttrafgen\tratio\t")
	for _, size := range []int{64, 594, 1518} {
		ours := func() (float64, error) {
			return measure(pair, e.span, e.squall, "gen", "--tx", pair.A.NS.Path()+":va", "--dst-mac", pair.B.MAC.String(), "--engine", "packet",
				"--size", fmt.Sprint(size), "--flows", "1024", "--duration", (e.span + 4*time.Second).String(), "--quiet", "--out", e.fresh())
		}
		theirs := e.trafgen(pair, size)
		all, err := inTurn(e.rounds, append([]run{ours}, runs([]peer{theirs})...)...)
		if err != nil {
			return err
		}
		if theirs.missing != "" {
			fmt.Fprintf(out, "%d\t%s\t%s\t-\t\n", size, all[0], theirs.missing)
			continue
		}
		fmt.Fprintf(out, "%d\t%s\t%s\t%.2f\t\n", size, all[0], all[1], all[0].median()/all[1].median())
	}
	return out.Flush()
}
