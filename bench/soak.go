package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"squall/internal/lab"
	"squall/scenarios"
)

const soakTime = 60 * time.Second

// soak runs a minute at full speed, and one at a million a second, and shows what
// becomes of the memory and whether garbage collection is seen in the sending.
func soak(e *env) error {
	pair, err := lab.NewPair(lab.Config{GRO: true})
	if err != nil {
		return err
	}
	defer pair.Close()
	fmt.Printf("\nA minute, live engine into the XDP meter, 64-byte frames\n")
	for _, rate := range []string{"max", "1Mpps"} {
		if err := e.soakOnce(pair, rate); err != nil {
			return err
		}
	}
	return nil
}

func (e *env) soakOnce(pair *lab.Pair, rate string) error {
	cmd := exec.Command(e.squall, "gen", "--tx", pair.A.NS.Path()+":va", "--rx", pair.B.NS.Path()+":vb", "--engine", "live", "--rate", rate,
		"--duration", soakTime.String(), "--any-loss", "--quiet", "--json", "--out", e.fresh())
	cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // its verdict is not the point
	var rss []int
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-tick.C:
			if n, ok := resident(cmd.Process.Pid); ok {
				rss = append(rss, n)
			}
		}
	}
	var r scenarios.Result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		return fmt.Errorf("squall: %w: %s", err, stderr.String())
	}
	if len(rss) < 10 {
		return fmt.Errorf("squall ended after %d s: %s", len(rss), stderr.String())
	}
	p := r.Phases[0]
	fmt.Printf("%s: %.0f kpps, lost %d, unexplained %d; resident %d kB after 5 s, at most %d kB afterwards; collections during the run %d",
		rate, p.AchievedPPS/1e3, p.Lost, r.Ledger.Unexplained, rss[5], slices.Max(rss[5:]), collections(stderr.String()))
	if rate != "max" {
		fmt.Printf("; send error p99 %.2f, p99.9 %.2f, max %.1f us", us(p.SendError.P99), us(p.SendError.P999), us(p.SendError.Max))
	}
	fmt.Println()
	return nil
}

// resident returns VmRSS of /proc/PID/status in kB.
func resident(pid int) (kB int, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, after, ok := strings.Cut(string(b), "VmRSS:")
	if !ok {
		return 0, false
	}
	kB, err = strconv.Atoi(strings.Fields(after)[0])
	return kB, err == nil
}

// collections counts those that began while frames were sent, from the lines "gc 2
// @60.450s ..." that the runtime writes.
func collections(trace string) (n int) {
	for line := range strings.Lines(trace) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "gc" {
			continue
		}
		at, err := time.ParseDuration(strings.TrimPrefix(f[2], "@"))
		if err == nil && at > time.Second && at < soakTime {
			n++
		}
	}
	return n
}
