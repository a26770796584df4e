package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"squall/internal/lab"
	"squall/internal/netns"
	"squall/scenarios"
)

// asCommand has the test binary be squall: for tests that need a process.
const asCommand = "SQUALL_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// output is what a command came to.
type output struct {
	code           int
	stdout, stderr string
}

// run runs a command line in this process.
func run(args ...string) output {
	var stdout, stderr bytes.Buffer
	code := squall(args, &stdout, &stderr)
	return output{code, stdout.String(), stderr.String()}
}

// command prepares a command line, with what wraps it in front, as a process of
// its own in a namespace (nil: this one).
func command(t *testing.T, ns *netns.NS, wrap []string, args ...string) (*netns.Cmd, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := append(append(append([]string(nil), wrap...), self), args...)
	c := ns.Command(line[0], line[1:]...)
	c.Env = append(os.Environ(), asCommand+"=1")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	return c, &stdout, &stderr
}

// process runs a command line as one.
func process(t *testing.T, ns *netns.NS, wrap []string, args ...string) output {
	t.Helper()
	c, stdout, stderr := command(t, ns, wrap, args...)
	err := c.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return output{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW")
	}
}

// portOf writes an end as a port that other processes can open too.
func portOf(e lab.End) string { return e.NS.Path() + ":" + e.Iface }

// cable makes a cable and returns its ends' ports. The test runs in an empty
// directory.
func cable(t *testing.T) (p *lab.Pair, tx, rx string) {
	t.Helper()
	needRoot(t)
	t.Chdir(t.TempDir())
	p, err := lab.NewPair(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, portOf(p.A), portOf(p.B)
}

// result reads run.json as printed.
func result(t *testing.T, o output) scenarios.Result {
	t.Helper()
	var r scenarios.Result
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil {
		t.Fatalf("run.json on stdout: %v\n%s\n%s", err, o.stdout, o.stderr)
	}
	return r
}

// balanced checks the account of a run.
func balanced(t *testing.T, r scenarios.Result) {
	t.Helper()
	var sent, received, named uint64
	for _, p := range r.Phases {
		sent, received = sent+p.Sent, received+p.Received
	}
	for _, n := range r.Ledger.Named {
		named += n.Frames
	}
	l := r.Ledger
	if l.Sent != sent || l.Received != received || l.Sent != l.Received+named || l.Unexplained != 0 {
		t.Errorf("ledger %+v does not balance, the phases have %d sent, %d received", l, sent, received)
	}
}

// empty checks that nothing half done is left in the working directory.
func empty(t *testing.T, but ...string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		known := false
		for _, b := range but {
			known = known || b == e.Name()
		}
		if e.Name() == "runs" {
			runs, _ := os.ReadDir("runs")
			known = len(runs) == 0
		}
		if !known {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// Each command and flag says what it is for.
func TestDescribed(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short description %q, want one without a full stop", c.CommandPath(), c.Short)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s --%s has no description", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
	for _, args := range [][]string{{}, {"--help"}, {"gen", "--help"}, {"lab"}} {
		if o := run(args...); o.code != exitPass || !strings.Contains(o.stdout, "Usage:") {
			t.Errorf("squall %v: exit code %d, stdout %q, stderr %q, want help", args, o.code, o.stdout, o.stderr)
		}
	}
}

func TestVersionAndMan(t *testing.T) {
	if o := run("version"); o.code != exitPass || !strings.HasPrefix(o.stdout, "squall "+release) {
		t.Errorf("version: %+v", o)
	}
	dir := filepath.Join(t.TempDir(), "man")
	if o := run("man", dir); o.code != exitPass {
		t.Errorf("man: %+v", o)
	}
	for _, page := range []string{"squall.1", "squall-gen.1", "squall-lab-up.1"} {
		if b, err := os.ReadFile(filepath.Join(dir, page)); err != nil || !bytes.Contains(b, []byte(".TH")) {
			t.Errorf("man page %s: %v", page, err)
		}
	}
}

func TestPorts(t *testing.T) {
	o := run("ports", "--json")
	var list []portJSON
	if err := json.Unmarshal([]byte(o.stdout), &list); err != nil || o.code != exitPass {
		t.Fatalf("ports --json: %v, %+v", err, o)
	}
	found := false
	for _, p := range list {
		if p.Port != "lo" {
			continue
		}
		found = true
		if why := p.Engines["packet"]; !strings.Contains(why, "loopback") {
			t.Errorf("lo and the packet engine: %q, want why it cannot", why)
		}
	}
	if !found {
		t.Errorf("no lo among %+v", list)
	}
	if o := run("ports"); o.code != exitPass || !strings.HasPrefix(o.stdout, "PORT") || !strings.Contains(o.stdout, "lo: no live, xdp, packet: ") {
		t.Errorf("ports: %+v", o)
	}
}

// A named lab from one command, a run through it, and its end.
func TestLab(t *testing.T) {
	needRoot(t)
	t.Chdir(t.TempDir())
	name := fmt.Sprintf("sqtest%d", os.Getpid())
	t.Cleanup(func() { run("lab", "down", name) })
	o := run("lab", "up", name, "--limit", "1Mbit")
	if o.code != exitPass || !strings.Contains(o.stdout, "squall lab down "+name) {
		t.Fatalf("lab up: %+v", o)
	}
	if o := run("lab", "up", name); o.code != exitUsage || !strings.Contains(o.stderr, name+"-a") {
		t.Errorf("lab up again: %+v", o)
	}
	// The line that lab up prints, shortened: the lab's router is known, so what
	// its queue drops has a name.
	_, line, _ := strings.Cut(o.stdout, "squall gen ")
	line, _, _ = strings.Cut(line, "--rate")
	args := append([]string{"gen", "--json", "--quiet", "--out", "run", "--dst", "198.18.1.2", "--count", "5000"}, strings.Fields(line)...)
	o = run(args...)
	r := result(t, o)
	if o.code == exitPass || r.Ledger.Unexplained != 0 || len(r.Ledger.Named) != 1 || r.Ledger.Named[0].Counter != "qdisc.drops" || r.Ledger.Named[0].Where != name+"-r:out" {
		t.Errorf("exit code %d, verdict %+v, ledger %+v, want the queue's drops named", o.code, r.Verdict, r.Ledger)
	}
	if o := run("lab", "down", name); o.code != exitPass {
		t.Errorf("lab down: %+v", o)
	}
	if o := run("lab", "down", name); o.code != exitUsage || !strings.Contains(o.stderr, name) {
		t.Errorf("lab down again: %+v", o)
	}
}
