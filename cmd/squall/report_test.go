package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"squall/internal/lab"
	"squall/internal/report"
)

// txFrames is how many frames a port's kernel has sent.
func txFrames(t *testing.T, e lab.End) (n uint64) {
	t.Helper()
	err := e.NS.Do(func() error {
		l, err := netlink.LinkByName(e.Iface)
		if err == nil {
			n = l.Attrs().Statistics.TxPackets
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// lines counts the whole lines of a file that may not be there yet.
func lines(path string) int {
	b, _ := os.ReadFile(path)
	return strings.Count(string(b), "\n")
}

// A run that is killed in the middle of a phase is reported as it was at its last
// sample: the port's own counter has sent since what the schedule allows for the time
// since, and no more.
func TestKilledRun(t *testing.T) {
	for _, engine := range []string{"packet", "xdp", "live"} {
		t.Run(engine, func(t *testing.T) { killed(t, engine) })
	}
}

func killed(t *testing.T, engine string) {
	const rate, catchUp = 5000, 0.05 // a second; seconds
	p, tx, rx := cable(t)
	before := txFrames(t, p.A)
	c, _, stderr := command(t, nil, nil, "gen", "--tx", tx, "--rx", rx, "--engine", engine, "--rate", "5kpps", "--duration", "10m", "--out", "kept")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	await(t, ended, func() bool { return lines("kept/samples.ndjson") >= 3 })
	time.Sleep(500 * time.Millisecond) // between two samples
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-ended
	dead := time.Now()
	sent := txFrames(t, p.A) - before

	o := run("report", "--json", "kept")
	var r report.Partial
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || o.code != exitVoid {
		t.Fatalf("exit code %d, want %d; %v\n%s\n%s", o.code, exitVoid, err, o.stdout, stderr)
	}
	if r.Verdict.Result != report.Incomplete || len(r.Phases) != 1 || r.LastSample == nil || r.Phases[0].Ended {
		t.Fatalf("report %+v, want one phase that did not end", r)
	}
	x := r.Phases[0]
	age := dead.Sub(*r.LastSample).Seconds()
	// What it may make good was under way when the sample was taken, and again since.
	most := float64(x.Sent) + rate*(age+2*catchUp)
	if x.Sent == 0 || x.Sent > sent || float64(sent) > most {
		t.Errorf("the port sent %d frames; reported are %d, %.3f s before the run was dead: want at most %.0f", sent, x.Sent, age, most)
	}
	if x.Received == 0 || x.Received > sent || x.Received+x.Lost > sent {
		t.Errorf("received %d, lost %d of %d", x.Received, x.Lost, sent)
	}
	// A sample is due once a second; what is beyond that is the machine's load.
	if age > 10 {
		t.Errorf("the last sample is %.3f s old", age)
	}
	t.Logf("the port sent %d frames, reported are %d, of %.3f s before", sent, x.Sent, age)

	o = run("report", "kept")
	for _, s := range []string{"kept  INCOMPLETE", "gen --tx " + tx, "under way: gen, ", "verdict: INCOMPLETE"} {
		if o.code != exitVoid || !strings.Contains(o.stdout, s) {
			t.Errorf("exit code %d, the report does not say %q:\n%s", o.code, s, o.stdout)
		}
	}
	// Of all that was written the power left half a line.
	if err := os.Truncate("kept/samples.ndjson", fileSize(t, "kept/samples.ndjson")-30); err != nil {
		t.Fatal(err)
	}
	if o = run("report", "kept"); o.code != exitVoid || !strings.Contains(o.stdout, "the last, is half written and left out") {
		t.Errorf("exit code %d, no word of the half line:\n%s", o.code, o.stdout)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// Two runs, and one with itself.
func TestReportCompares(t *testing.T) {
	_, tx, rx := cable(t)
	for out, count := range map[string]string{"a": "500", "b": "1000"} {
		if o := run("gen", "--tx", tx, "--rx", rx, "--rate", "5kpps", "--count", count, "--quiet", "--out", out); o.code == exitUsage {
			t.Fatalf("%+v", o)
		}
	}
	o := run("report", "a", "b")
	for _, s := range []string{"A  a  gen", "B  b  gen", "+500", "+100 %", "ledger (frames)", "say nothing of chance"} {
		if o.code != exitPass || !strings.Contains(o.stdout, s) {
			t.Errorf("exit code %d, the comparison does not say %q:\n%s\n%s", o.code, s, o.stdout, o.stderr)
		}
	}
	var c report.Comparison
	o = run("report", "--json", "a", "b")
	if err := json.Unmarshal([]byte(o.stdout), &c); err != nil || o.code != exitPass || c.Schema != report.ComparisonSchema {
		t.Fatalf("exit code %d, %v:\n%s", o.code, err, o.stdout)
	}
	half, whole, by, share := 500.0, 1000.0, 500.0, 1.0
	want := report.Difference{Figure: "sent", A: &half, B: &whole, Difference: &by, Relative: &share}
	figures := c.Accounts[0].Phases[0].Figures
	k := slices.IndexFunc(figures, func(d report.Difference) bool { return d.Figure == "sent" })
	if k < 0 {
		t.Fatalf("sent does not differ: %s", o.stdout)
	}
	if diff := cmp.Diff(want, figures[k]); diff != "" {
		t.Errorf("difference (-want +got):\n%s", diff)
	}
	if o := run("report", "a", "a"); o.code != exitPass || !strings.Contains(o.stdout, "no figure differs") {
		t.Errorf("exit code %d, of a run and itself:\n%s", o.code, o.stdout)
	}
	// One that did not come to its end.
	if err := os.Remove("b/run.json"); err != nil {
		t.Fatal(err)
	}
	if o := run("report", "a", "b"); o.code != exitVoid || !strings.Contains(o.stdout, ", B INCOMPLETE") {
		t.Errorf("exit code %d:\n%s", o.code, o.stdout)
	}
}

func TestReportRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("empty", 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		say  string
	}{
		{"nothing", nil, "have 0 arguments"},
		{"three", []string{"a", "b", "c"}, "have 3 arguments"},
		{"nowhere", []string{"nowhere"}, "nowhere"},
		{"no run directory", []string{"empty"}, `"empty" is no run directory`},
		{"one of two", []string{"empty", "nowhere"}, `"empty" is no run directory`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if o := run(append([]string{"report"}, tt.args...)...); o.code != exitUsage || !strings.Contains(o.stderr, tt.say) || o.stdout != "" {
				t.Errorf("%+v, want %q", o, tt.say)
			}
		})
	}
}

// Ctrl-C has a run end in order; Ctrl-C again ends it at once, and a line says so,
// however quiet it is.
func TestInterruptedTwice(t *testing.T) {
	for name, more := range map[string][]string{"quiet": {"--quiet"}, "not quiet": nil} {
		t.Run(name, func(t *testing.T) {
			_, tx, rx := cable(t)
			args := append([]string{"gen", "--tx", tx, "--rx", rx, "--rate", "1kpps", "--duration", "10m", "--settle", "10m", "--out", "kept"}, more...)
			c, stdout, stderr := command(t, nil, nil, args...)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			await(t, ended, func() bool { return lines("kept/samples.ndjson") >= 1 })
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			await(t, ended, func() bool {
				b, _ := os.ReadFile("kept/events.ndjson")
				return strings.Contains(string(b), `"event":"settle"`)
			})
			if err := c.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
			case <-time.After(time.Minute):
				c.Process.Kill()
				t.Fatalf("still there a minute after the second: %s", stderr)
			}
			if s := c.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGINT {
				t.Errorf("ended by %v, want SIGINT", c.ProcessState)
			}
			if !strings.Contains(stderr.String(), "interrupt again: ended at once; squall report kept prints") || stdout.Len() > 0 {
				t.Errorf("stdout %q, stderr does not say what happened: %q", stdout, stderr)
			}
			o := run("report", "kept")
			for _, s := range []string{"stopped by the user", "under way: sending was over", "verdict: INCOMPLETE"} {
				if o.code != exitVoid || !strings.Contains(o.stdout, s) {
					t.Errorf("exit code %d, the report does not say %q:\n%s", o.code, s, o.stdout)
				}
			}
		})
	}
}
