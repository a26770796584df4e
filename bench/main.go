package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"squall/internal/lab"
)

// env is what every table needs.
type env struct {
	squall string // the program
	tmp    string
	rounds int
	span   time.Duration
	dirs   int
}

// fresh names a run directory that does not exist yet.
func (e *env) fresh() string {
	e.dirs++
	return filepath.Join(e.tmp, fmt.Sprintf("run-%d", e.dirs))
}

// tables in the order they are printed.
var tables = []struct {
	name string
	run  func(*env) error
}{
	{"packet", throughput},
	{"accuracy", accuracy},
	{"top", topSpeed},
	{"bare", overBare},
	{"cores", cores},
	{"pacing", pacing},
	{"replay", replayTop},
	{"soak", soak},
}

func main() {
	e := env{}
	flag.IntVar(&e.rounds, "rounds", 5, "runs of each program, in turn")
	flag.DurationVar(&e.span, "time", 2*time.Second, "how long a run is measured")
	flag.StringVar(&e.squall, "squall", "bin/squall", "the program")
	only := flag.String("only", "", "tables to make, parted by commas")
	flag.Parse()
	if err := e.bench(*only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (e *env) bench(only string) (err error) {
	if e.squall, err = filepath.Abs(e.squall); err != nil {
		return err
	}
	if _, err := os.Stat(e.squall); err != nil {
		return fmt.Errorf("%w: run make build first", err)
	}
	if e.tmp, err = os.MkdirTemp("", "squall-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(e.tmp)
	wanted := strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	for _, t := range tables {
		if len(wanted) > 0 && !slices.Contains(wanted, t.name) {
			continue
		}
		if err := t.run(e); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// measure starts a program in pair A's namespace, pinned to the first core,
// lets it come up to speed, and returns how many thousand frames a second left
// va in the span.
func measure(pair *lab.Pair, span time.Duration, name string, args ...string) (kpps float64, err error) {
	cmd := pair.A.NS.Command("taskset", append([]string{"-c", "0", name}, args...)...)
	// A group of its own: trafgen forks a process that does not hear of a signal
	// to its parent.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		overdue := time.AfterFunc(10*time.Second, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		defer overdue.Stop()
		if w := cmd.Wait(); err == nil && w != nil && !errors.As(w, new(*exec.ExitError)) {
			err = w
		}
	}()
	time.Sleep(1500 * time.Millisecond)
	n0, t0, err := sentBy(pair.A)
	if err != nil {
		return 0, err
	}
	time.Sleep(span)
	n1, t1, err := sentBy(pair.A)
	if err != nil {
		return 0, err
	}
	if n1 == n0 {
		return 0, fmt.Errorf("%s sent nothing: %s", name, said.String())
	}
	return float64(n1-n0) / t1.Sub(t0).Seconds() / 1e3, nil
}
