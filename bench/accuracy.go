package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"squall/internal/lab"
)

// accuracy shows how near the packet engine comes to the rate it is asked for,
// and how near each frame to its time.
func accuracy(e *env) error {
	pair, err := lab.NewPair(lab.Config{})
	if err != nil {
		return err
	}
	defer pair.Close()
	fmt.Printf("\nAsked and achieved, packet engine, 64-byte frames, 10 s, each run\n")
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "asked\tachieved pps\terror\tva tx_packets\tsend error p50\tp99\tp99.9\tmax (us)\t")
	for _, rate := range []string{"10kpps", "100kpps"} {
		for range min(e.rounds, 3) {
			before, _, err := sentBy(pair.A)
			if err != nil {
				return err
			}
			r, err := e.squallJSON("gen", "--tx", pair.A.NS.Path()+":va", "--dst-mac", pair.B.MAC.String(), "--engine", "packet",
				"--size", "64", "--rate", rate, "--duration", "10s")
			if err != nil {
				return err
			}
			after, _, err := sentBy(pair.A)
			if err != nil {
				return err
			}
			p := r.Phases[0]
			fmt.Fprintf(out, "%s\t%.3f\t%+.5f %%\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t\n", rate, p.AchievedPPS, 100*(p.AchievedPPS/p.AskedPPS-1), after-before,
				us(p.SendError.P50), us(p.SendError.P99), us(p.SendError.P999), us(p.SendError.Max))
		}
	}
	return out.Flush()
}

func us(ns int64) float64 { return float64(ns) / 1e3 }

// pacing shows the live engine at a million frames a second, as the XDP meter
// sees it arrive.
func pacing(e *env) error {
	pair, err := lab.NewPair(lab.Config{GRO: true})
	if err != nil {
		return err
	}
	defer pair.Close()
	fmt.Printf("\nPacing, live engine, 64-byte frames, 10 s, each run\n")
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "asked\tachieved pps\terror\tlost\tsend error p50\tp99\tp99.9\tmax (us)\tlatency p50\tp99\tp99.9 (us)\t")
	span := e.span
	e.span = 10e9
	defer func() { e.span = span }()
	for range min(e.rounds, 3) {
		r, err := e.live(pair, 64, 1, "1Mpps")
		if err != nil {
			return err
		}
		p := r.Phases[0]
		fmt.Fprintf(out, "1Mpps\t%.3f\t%+.5f %%\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", p.AchievedPPS, 100*(p.AchievedPPS/p.AskedPPS-1), p.Lost,
			us(p.SendError.P50), us(p.SendError.P99), us(p.SendError.P999), us(p.SendError.Max), us(p.Latency.P50), us(p.Latency.P99), us(p.Latency.P999))
	}
	return out.Flush()
}
