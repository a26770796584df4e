package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"squall/internal/netns"
	"squall/scenarios"
)

// outside is what a lab could leave behind on the machine: interfaces and names
// of namespaces.
func outside(t *testing.T) (names []string) {
	t.Helper()
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		names = append(names, l.Attrs().Name)
	}
	entries, _ := os.ReadDir(netns.Dir)
	for _, e := range entries {
		// Other tests may make some, under other names.
		if strings.HasPrefix(e.Name(), "lab") {
			names = append(names, e.Name())
		}
	}
	return names
}

// The demo, as a stranger runs it.
func TestDemo(t *testing.T) {
	needRoot(t)
	t.Chdir(t.TempDir())
	before := outside(t)
	o := run("demo", "--json", "--out", "kept")
	r := result(t, o)
	if want := (verdictError{r.Verdict.Result}).code(); o.code != want {
		t.Errorf("exit code %d, want %d for %s: %s", o.code, want, r.Verdict.Result, o.stderr)
	}
	balanced(t, r)
	var phases []string
	for _, p := range r.Phases {
		phases = append(phases, p.Name)
		if p.Sent == 0 || p.Received == 0 {
			t.Errorf("phase %s sent %d, received %d", p.Name, p.Sent, p.Received)
		}
	}
	if diff := cmp.Diff([]string{"baseline", "storm", "return", "replay"}, phases); diff != "" {
		t.Fatalf("phases (-want +got):\n%s", diff)
	}
	storm := r.Phases[1]
	var drops, lost uint64
	for _, n := range r.Ledger.Named {
		if n.Where == "lab-r:out" && n.Counter == "qdisc.drops" {
			drops = n.Frames
		}
	}
	for _, p := range r.Phases {
		lost += p.Lost
	}
	// Other counters name frames where the machine could not keep up.
	if drops == 0 || drops > lost || len(r.Ledger.Named) == 1 && drops != lost {
		t.Errorf("%d drops of the queue, %d frames lost: %+v", drops, lost, r.Ledger)
	}
	if storm.Lost == 0 || len(storm.Bursts) == 0 {
		t.Errorf("the storm lost %d frames in %d bursts", storm.Lost, len(storm.Bursts))
	}
	if s := o.stderr; strings.Contains(s, "\r") || !strings.Contains(s, "/5 s  sent ") {
		t.Errorf("progress has no plain lines:\n%s", s)
	}
	if n := r.Phases[3].Sent; n != demoCapture {
		t.Errorf("replayed %d frames, want %d", n, demoCapture)
	}
	if diff := cmp.Diff(before, outside(t)); diff != "" {
		t.Errorf("the machine's interfaces and namespaces (-before +after):\n%s", diff)
	}
}

// However the demo ends, nothing is left of it; if it is asked to end, it
// reports first.
func TestDemoEnds(t *testing.T) {
	needRoot(t)
	tests := []struct {
		name    string
		signal  syscall.Signal
		reports bool
	}{
		{"SIGINT", syscall.SIGINT, true},
		{"SIGTERM", syscall.SIGTERM, true},
		{"SIGKILL", syscall.SIGKILL, false},
		// The Go runtime ends on it as on a panic.
		{"SIGQUIT", syscall.SIGQUIT, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			before := outside(t)
			c, stdout, stderr := command(t, nil, nil, "demo", "--out", "kept")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			await(t, ended, func() bool {
				_, err := os.Stat("kept/samples.ndjson")
				return err == nil
			})
			held := namespaces(t, c.Process.Pid)
			if len(held) < 3 {
				t.Errorf("the demo holds namespaces %q, want three", held)
			}
			if err := c.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
			case <-time.After(time.Minute):
				c.Process.Kill()
				t.Fatalf("still there a minute after %s", tt.name)
			}
			if diff := cmp.Diff(before, outside(t)); diff != "" {
				t.Errorf("the machine's interfaces and namespaces (-before +after):\n%s", diff)
			}
			for _, ns := range held {
				if who := holders(ns); len(who) > 0 {
					t.Errorf("namespace %s is held by %q", ns, who)
				}
			}
			code := c.ProcessState.ExitCode()
			if _, err := os.Stat("kept/run.json"); (err == nil) != tt.reports {
				t.Errorf("run.json: %v, want one: %v", err, tt.reports)
			}
			if !tt.reports {
				return
			}
			if code == exitUsage {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			for _, s := range []string{"(stopped)", "baseline", "= 0  unexplained", "verdict: "} {
				if !strings.Contains(stdout.String(), s) {
					t.Errorf("the report does not say %q:\n%s", s, stdout)
				}
			}
			if strings.Contains(stdout.String(), "storm") {
				t.Errorf("the report has phases that did not begin:\n%s", stdout)
			}
		})
	}
}

// await waits until something is so, and fails if the process ends before.
func await(t *testing.T, ended <-chan error, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		default:
		}
		if time.Now().After(end) {
			t.Fatal("not so within a minute")
		}
	}
}

// namespaces lists the network namespaces that a process holds and is not in.
func namespaces(t *testing.T, pid int) (held []string) {
	t.Helper()
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, ns := range links(fmt.Sprintf("/proc/%d/fd/*", pid)) {
		if strings.HasPrefix(ns, "net:[") && ns != own && !slices.Contains(held, ns) {
			held = append(held, ns)
		}
	}
	return held
}

// holders lists the processes that are in a namespace or hold it.
func holders(ns string) (who []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		if slices.Contains(links(d+"/ns/net"), ns) || slices.Contains(links(d+"/fd/*"), ns) {
			who = append(who, d)
		}
	}
	return who
}

// links reads the links that match a pattern; files of a process that has ended
// are none.
func links(pattern string) (to []string) {
	paths, _ := filepath.Glob(pattern)
	for _, p := range paths {
		if l, err := os.Readlink(p); err == nil {
			to = append(to, l)
		}
	}
	return to
}

func TestProgress(t *testing.T) {
	sample := scenarios.Sample{Phase: "storm", Seconds: 3, Sent: 30000, PPS: 10000, Received: 29000, RxPPS: 9900, Lost: 1000}
	const line = "storm 3/5 s  sent 30000 (10000/s)  received 29000 (9900/s)  lost 1000"
	tests := []struct {
		name string
		p    progress
		want string
	}{
		{"terminal: one line, written over, wiped for one that stays", progress{terminal: true},
			"\r" + line + "\r" + line + "\r" + strings.Repeat(" ", len(line)) + "\rva link lost\n"},
		{"no terminal: plain lines, not too often", progress{}, line + "\nva link lost\n"},
		{"quiet", progress{quiet: true, terminal: true}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			p := tt.p
			p.w = &b
			p.length = map[string]time.Duration{"storm": 5 * time.Second}
			p.Sample(sample)
			p.Sample(sample)
			p.Event(scenarios.Event{Event: scenarios.EventPhase, Text: "routine"})
			p.Event(scenarios.Event{Event: scenarios.EventLoss, Text: "routine"})
			p.Event(scenarios.Event{Event: scenarios.EventLink, Port: "va", Text: "link lost"})
			p.end()
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
}
