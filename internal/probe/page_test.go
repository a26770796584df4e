package probe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"squall/internal/probe/sshtest"
)

func TestPage(t *testing.T) {
	var turn atomic.Int64
	gone := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), "version=0.0.4") {
			t.Errorf("Accept: have %q", r.Header.Get("Accept"))
		}
		fmt.Fprintf(w, "# TYPE busy_seconds_total counter\nbusy_seconds_total %g\n# TYPE free gauge\nfree %d\n", 1.5*float64(turn.Add(1)), 9-turn.Load())
	})
	mux.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-gone:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		line := []byte(strings.Repeat("a 1\n", 1<<14))
		for {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer close(gone)

	page := NewPage("dut", server.URL+"/metrics", nil, Prometheus, time.Minute)
	defer page.Close()
	got := Delta(read(t, page), read(t, page))
	want := []Change{
		{Where: "dut", Name: "busy_seconds_total", Before: 2, After: 3, Moved: 2, Float: &Numbers{1.5, 3, 1.5}},
		{Where: "dut", Name: "free", Before: 8, After: 7, Level: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}

	for _, tt := range []struct {
		path, want string
		timeout    time.Duration
	}{
		{"/none", "404", time.Minute},
		{"/hangs", "Client.Timeout", 50 * time.Millisecond},
		{"/endless", "more than", time.Minute},
	} {
		p := NewPage("dut", server.URL+tt.path, nil, Prometheus, tt.timeout)
		if _, err := p.Read(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: have %v, want an error with %q", tt.path, err, tt.want)
		}
		p.Close()
	}
	closed := httptest.NewServer(mux)
	closed.Close()
	if _, err := NewPage("dut", closed.URL, nil, Prometheus, time.Minute).Read(); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: have %v", err)
	}
}

func TestPerfSums(t *testing.T) {
	var s perfSums
	lines := []struct {
		line     string
		complete bool
	}{
		{"# started on Tue", false},
		{"", false},
		{"     1.000216,1000,,cycles,10,100.00,,", false},
		{"     1.000216,600.5,msec,task-clock,600837135,100.00,2.003,CPUs utilized", false},
		{"     1.000216,<not supported>,,LLC-loads,0,100.00,,", false},
		{"     1.000216,5,,cpu/event=0x3c,umask=0x0/,10,100.00,,", false},
		{"     2.000300,2000,,cycles,10,100.00,,", true},
		{"     2.000300,0.25,msec,task-clock,1,100.00,,", false},
		{"     2.000300,<not counted>,,LLC-loads,0,0.00,,", false},
		{"     2.000300,6,,cpu/event=0x3c,umask=0x0/,10,100.00,,", false},
		{"     3.000300,4,,cycles,10,100.00,,", true},
	}
	for _, l := range lines {
		if got := s.line(l.line); got != l.complete {
			t.Errorf("%q: have complete %v, want %v", l.line, got, l.complete)
		}
	}
	want := []Counter{{Name: "cycles", Value: 3000}, {Name: "task-clock", Value: 601, Float: 600.75}, {Name: "cpu/event=0x3c,umask=0x0/", Value: 11}}
	if diff := cmp.Diff(want, s.counters); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"LLC-loads"}, s.absent); diff != "" {
		t.Errorf("absent (-want +got):\n%s", diff)
	}
}

func TestPerf(t *testing.T) {
	for _, bad := range [][]string{nil, {""}, {"-e"}, {"a; reboot"}} {
		if _, err := NewPerf(nil, "", 0, bad...); err == nil {
			t.Errorf("events %q: no error", bad)
		}
	}
	newPerf := func(t *testing.T) *Perf {
		p, err := NewPerf(nil, "", 20*time.Millisecond, "context-switches", "task-clock")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		return p
	}
	t.Run("not there", func(t *testing.T) {
		sh, err := exec.LookPath("sh")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := exec.Command("ln", "-s", sh, dir+"/sh").Run(); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		p := newPerf(t)
		for range 2 { // the second one within the rest
			if _, err := p.Read(); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("have %v, want one that says so", err)
			}
		}
	})
	t.Run("there", func(t *testing.T) {
		if _, err := exec.LookPath("perf"); err != nil {
			t.Skip(err)
		}
		p := newPerf(t)
		before := read(t, p)
		until(t, "time spent", func() bool {
			for _, c := range Delta(before, read(t, p)) {
				if c.Name == "task-clock" && c.Numbers().Moved > 0 && c.Note == "" {
					return true
				}
			}
			return false
		})
		p.Close()
		until(t, "its end", func() bool { _, err := p.Read(); return err != nil })
	})
	t.Run("over ssh", func(t *testing.T) {
		if _, err := exec.LookPath("perf"); err != nil {
			t.Skip(err)
		}
		server := sshtest.Start(t)
		p, err := NewPerf(&server.Host, "dut/perf", 20*time.Millisecond, "task-clock")
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		before := read(t, p)
		until(t, "time spent", func() bool {
			moved := pick(Delta(before, read(t, p)), Change{Where: "dut/perf", Name: "task-clock"})
			return moved.Numbers().Moved > 0
		})
		server.Kill()
		until(t, "its absence", func() bool { _, err := p.Read(); return err != nil })
	})
}
