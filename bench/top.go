package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"text/tabwriter"

	"squall/internal/lab"
	"squall/scenarios"
)

// topSpeed compares live frames, counted frame by frame by the XDP meter, with
// what others reach on the same pair.
func topSpeed(e *env) error {
	pair, err := lab.NewPair(lab.Config{GRO: true})
	if err != nil {
		return err
	}
	defer pair.Close()
	fmt.Printf("\nTop speed, one core: squall live into the XDP meter, each frame with its own tag, port and right checksum (kpps: median, min to max of %d)\n", e.rounds)
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "size\tsquall live\tlost\tunexplained\ttrafgen\tratio\ttcpreplay -t -K\tratio\txdp-trafgen\tratio\t")
	for _, size := range []int{64, 82, 1518} {
		row, err := e.topRow(pair, size)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, row)
	}
	return out.Flush()
}

func (e *env) topRow(pair *lab.Pair, size int) (string, error) {
	var lost, unexplained int64
	ours := func() (float64, error) {
		r, err := e.live(pair, size, 1, "")
		if err != nil {
			return 0, err
		}
		lost += int64(r.Phases[0].Lost)
		unexplained += max(r.Ledger.Unexplained, -r.Ledger.Unexplained)
		return r.Phases[0].AchievedPPS / 1e3, nil
	}
	peers := []peer{e.trafgen(pair, size), e.tcpreplay(pair, size)}
	if size == 64 {
		peers = append(peers, e.xdpTrafficgen(pair))
	}
	all, err := inTurn(e.rounds, append([]run{ours}, runs(peers)...)...)
	if err != nil {
		return "", err
	}
	row := fmt.Sprintf("%d\t%s\t%d\t%d\t", size, all[0], lost, unexplained)
	k := 1
	for _, p := range peers {
		if p.missing != "" {
			row += p.missing + "\t-\t"
			continue
		}
		row += fmt.Sprintf("%s\t%.1f\t", all[k], all[0].median()/all[k].median())
		k++
	}
	for range 3 - len(peers) {
		row += "-\t-\t"
	}
	return row, nil
}

// cores compares two cores with one.
func cores(e *env) error {
	pair, err := lab.NewPair(lab.Config{GRO: true, Queues: 2})
	if err != nil {
		return err
	}
	defer pair.Close()
	fmt.Printf("\nCores, 64-byte frames, squall live into the XDP meter (kpps: median, min to max of %d)\n", e.rounds)
	var lost, unexplained int64
	at := func(n int) run {
		return func() (float64, error) {
			r, err := e.live(pair, 64, n, "")
			if err != nil {
				return 0, err
			}
			lost += int64(r.Phases[0].Lost)
			unexplained += max(r.Ledger.Unexplained, -r.Ledger.Unexplained)
			return r.Phases[0].AchievedPPS / 1e3, nil
		}
	}
	all, err := inTurn(e.rounds, at(1), at(2))
	if err != nil {
		return err
	}
	fmt.Printf("one core %s   two cores %s   ratio %.2f   lost %d   unexplained %d\n", all[0], all[1], all[1].median()/all[0].median(), lost, unexplained)
	return nil
}

// live runs squall once on a pair. rate "" is max.
func (e *env) live(pair *lab.Pair, size, cores int, rate string) (scenarios.Result, error) {
	args := []string{"gen", "--tx", pair.A.NS.Path() + ":va", "--rx", pair.B.NS.Path() + ":vb", "--engine", "live",
		"--size", fmt.Sprint(size), "--flows", "1024", "--duration", e.span.String(), "--any-loss"}
	if cores > 1 {
		args = append(args, "--cores", fmt.Sprint(cores))
	}
	if rate != "" {
		args = append(args, "--rate", rate)
	}
	return e.squallJSON(args...)
}

// squallJSON runs squall and returns what it reports.
func (e *env) squallJSON(args ...string) (r scenarios.Result, err error) {
	args = append(args, "--quiet", "--json", "--out", e.fresh())
	cmd := exec.Command(e.squall, args...)
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return r, err
	}
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		return r, fmt.Errorf("squall %v: %w", args, err)
	}
	return r, nil
}
