package main

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"squall/internal/lab"
)

// attached says whether an XDP program is on each of the ports.
func attached(t *testing.T, ends ...lab.End) (on []bool) {
	t.Helper()
	for _, e := range ends {
		err := e.NS.Do(func() error {
			l, err := netlink.LinkByName(e.Iface)
			if err == nil {
				on = append(on, l.Attrs().Xdp.Attached)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return on
}

// However a run ends, no program of it stays on a port.
func TestProgramsEndWithTheRun(t *testing.T) {
	tests := []struct {
		name   string
		engine string
		signal syscall.Signal
		on     []bool // while it runs, at the sender and the receiver
	}{
		{"live, SIGINT", "live", syscall.SIGINT, []bool{false, true}},
		{"live, SIGKILL", "live", syscall.SIGKILL, []bool{false, true}},
		{"live, SIGQUIT", "live", syscall.SIGQUIT, []bool{false, true}},
		{"xdp, SIGINT", "xdp", syscall.SIGINT, []bool{false, true}},
		{"xdp, SIGKILL", "xdp", syscall.SIGKILL, []bool{false, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, tx, rx := cable(t)
			t.Chdir(t.TempDir())
			c, _, stderr := command(t, nil, nil, "gen", "--tx", tx, "--rx", rx, "--engine", tt.engine, "--rate", "10kpps", "--out", "kept")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			await(t, ended, func() bool {
				_, err := os.Stat("kept/samples.ndjson")
				return err == nil
			})
			if diff := cmp.Diff(tt.on, attached(t, p.A, p.B)); diff != "" {
				t.Errorf("programs while it runs (-want +got):\n%s", diff)
			}
			if err := c.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			select {
			case <-ended:
			case <-time.After(time.Minute):
				c.Process.Kill()
				t.Fatalf("still there a minute after %v: %s", tt.signal, stderr)
			}
			if diff := cmp.Diff([]bool{false, false}, attached(t, p.A, p.B)); diff != "" {
				t.Errorf("programs after it (-want +got):\n%s", diff)
			}
		})
	}
}
