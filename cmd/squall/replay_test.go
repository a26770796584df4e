package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"squall/internal/lab"
	"squall/pcaps"
	"squall/scenarios"
)

// expected are the frames of a capture as they are to leave, by its link type's own
// documentation (https://www.tcpdump.org/linktypes.html), at an MTU of 1500.
func expected(t *testing.T, path string, p *lab.Pair) (frames [][]byte) {
	t.Helper()
	r, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	header := func(ethertype []byte, packet []byte) []byte {
		return bytes.Join([][]byte{p.B.MAC, p.A.MAC, ethertype, packet}, nil)
	}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		var f []byte
		switch d := rec.Data; rec.LinkType {
		case 1:
			f = bytes.Clone(d)
		case 101:
			f = header([]byte{8, 0}, d)
		case 0:
			f = header([]byte{8, 0}, d[4:])
		case 113:
			f = header(d[14:16], d[16:])
		}
		if !rec.Cut() {
			frames = append(frames, f)
		}
	}
}

// What tcpdump sees of every capture is what its fates say, byte for byte.
func TestReplayedCaptures(t *testing.T) {
	tests := []struct {
		file           string
		sent, left     uint64
		reason, refuse string
	}{
		{"dupack-runs.pcap", 3049, 0, "", ""},
		{"gtpu-truncated.pcapng", 54, 28, "cut short by the snap length", ""},
		{"big-endian-v2.1.pcap", 156, 0, "", ""},
		{"sll-nanosecond.pcap", 3, 0, "given an Ethernet header", ""},
		{"raw-ipv4.pcap", 1, 0, "given an Ethernet header", ""},
		{"null-loopback.pcap", 4, 0, "given an Ethernet header", ""},
		{"invalid-timestamp.pcap", 3, 0, "without a time that can be, sent with the frame in front of them", ""},
		{"frame-relay-unsupported.pcap", 0, 0, "", "of 5, 5 of link type multi-link Frame Relay, link type 182, which cannot be sent on Ethernet"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			path, err := filepath.Abs(sharedCapture(t, tt.file)) // cable changes the directory
			if err != nil {
				t.Fatal(err)
			}
			p, tx, rx := cable(t)
			args := []string{"replay", path, "--tx", tx, "--rx", rx, "--rate", "5kpps", "--engine", "packet", "--json", "--quiet", "--out", t.TempDir()}
			if tt.refuse != "" {
				if o := run(args...); o.code != exitUsage || !strings.Contains(o.stderr, tt.refuse) {
					t.Errorf("%+v, want it refused: %s", o, tt.refuse)
				}
				return
			}
			var r scenarios.Result
			got := tcpdump(t, p, int(tt.sent), func() { r = result(t, run(args...)) })
			if diff := cmp.Diff(expected(t, path, p), got); diff != "" {
				t.Errorf("frames on the wire (-want +got):\n%s", diff)
			}
			balanced(t, r)
			if r.Phases[0].Sent != tt.sent || r.Phases[0].Received != tt.sent {
				t.Errorf("sent %d, received %d, want %d", r.Phases[0].Sent, r.Phases[0].Received, tt.sent)
			}
			var left uint64
			said := ""
			for _, f := range r.Capture.LeftOut {
				left += f.Records
				said += f.Reason
			}
			for _, f := range r.Capture.Changed {
				said += "; " + f.Reason
			}
			if left != tt.left || !strings.Contains(said, tt.reason) {
				t.Errorf("%d left out (%s), want %d: %q", left, said, tt.left, tt.reason)
			}
		})
	}
}

func TestReplayFlags(t *testing.T) {
	_, tx, rx := cable(t)
	if o := run("gen", "-w", "in.pcap", "--proto", "tcp", "--tag", "none", "--size", "1518", "--flows", "4", "--rate", "2kpps", "--count", "40"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	tests := []struct {
		name string
		args []string
		sent uint64
	}{
		{"copies", []string{"in.pcap", "--copies", "3"}, 120},
		{"files in turn", []string{"in.pcap", "in.pcap"}, 80},
		{"merged", []string{"in.pcap", "in.pcap", "--merge"}, 80},
		{"unique flows", []string{"in.pcap", "--unique-flows", "--loop", "5"}, 200},
		{"forever, for a time", []string{"in.pcap", "--loop", "forever", "--duration", "100ms"}, 200},
		{"rewritten", []string{"in.pcap", "--map", "198.18.0.0/16=10.1.0.0/16", "--ttl", "9"}, 40},
		{"gaps of at most a tenth of a millisecond", []string{"in.pcap", "--max-gap", "100us"}, 40},
		{"from a file", []string{"in.pcap", "in.pcap", "--loop", "2"}, 160},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := result(t, run(append([]string{"replay", "--tx", tx, "--rx", rx, "--json", "--quiet", "--any-loss", "--out", t.TempDir()}, tt.args...)...))
			balanced(t, r)
			if got := r.Phases[0].Sent; got != tt.sent {
				t.Errorf("sent %d, want %d", got, tt.sent)
			}
		})
	}
	refused := []struct {
		args []string
		says string
	}{
		{[]string{"in.pcap", "--loop", "0"}, "--loop 0: need a number from 1 on, or forever"},
		{[]string{"in.pcap", "--truncated", "perhaps"}, `--truncated: have "perhaps", need skip, pad or send`},
		{[]string{"in.pcap", "--time-errors", "perhaps"}, "--time-errors: "},
		{[]string{"in.pcap", "--oversize", "perhaps"}, "--oversize: "},
		{[]string{"in.pcap", "--max-gap", "0s"}, "--max-gap 0s: need a time above 0"},
		{[]string{"in.pcap", "--copies", "0"}, "--copies 0: need at least one"},
		{[]string{"in.pcap", "--impair", "drop 2/1"}, "impairment, column 6"},
		{[]string{"in.pcap", "--one-at-a-time", "--topspeed"}, "--one-at-a-time: keys say when frames go"},
		{[]string{"in.pcap", "no.pcap"}, "no.pcap"},
		{nil, "need at least one: a capture"},
	}
	for _, tt := range refused {
		t.Run(fmt.Sprint(tt.args), func(t *testing.T) {
			o := run(append([]string{"replay", "--tx", tx, "--rx", rx}, tt.args...)...)
			if o.code != exitUsage || !strings.Contains(o.stderr, tt.says) {
				t.Errorf("%+v, want %q", o, tt.says)
			}
		})
	}
	empty(t, "in.pcap")
}

// A capture larger than memory is replayed from a file, over and over, by an engine that
// can.
func TestReplaySpooled(t *testing.T) {
	_, tx, rx := cable(t)
	if o := run("gen", "-w", "in.pcap", "--tag", "none", "--size", "1518", "--flows", "64", "--rate", "40kpps", "--count", "1000"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	args := []string{"replay", "in.pcap", "--tx", tx, "--rx", rx, "--loop", "3", "--preload-limit", "1", "--any-loss", "--json", "--out", t.TempDir()}
	r := result(t, run(args...))
	balanced(t, r)
	if p := r.Phases[0]; p.Sent != 3000 || p.Received == 0 || p.Engine == "live" || !r.Capture.Spooled {
		t.Errorf("%s sent %d, received %d, from a file: %v; want 3000 from a file, not by live", p.Engine, p.Sent, p.Received, r.Capture.Spooled)
	}
	o := run(append(args, "--engine", "live")...)
	if o.code != exitUsage || !strings.Contains(o.stderr, "--preload-limit") {
		t.Errorf("live, from a file: %+v", o)
	}
	// There is no room for a file.
	o = run(append(args, "--spool-dir", "nowhere")...)
	if o.code != exitUsage || !strings.Contains(o.stderr, `"nowhere"`) {
		t.Errorf("no directory for the file: %+v", o)
	}
}

// Frames without an Ethernet header need to know where to.
func TestReplayNextHop(t *testing.T) {
	raw, err := filepath.Abs(sharedCapture(t, "raw-ipv4.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	p, tx, _ := cable(t)
	o := run("replay", raw, "--tx", tx)
	if o.code != exitUsage || !strings.Contains(o.stderr, "--dmac") || !strings.Contains(o.stderr, tx) {
		t.Errorf("%+v, want --dmac asked for", o)
	}
	empty(t)
	to := []byte{2, 0, 0, 0, 0, 0x55}
	got := tcpdump(t, p, 1, func() {
		if o := run("replay", raw, "--tx", tx, "--engine", "packet", "--dmac", "02:00:00:00:00:55", "--out", t.TempDir()); o.code != exitPass {
			t.Errorf("%+v", o)
		}
	})
	if len(got) != 1 || !bytes.Equal(got[0][:6], to) || !bytes.Equal(got[0][6:12], p.A.MAC) {
		t.Errorf("frames % x, want one from %v to % x", got, p.A.MAC, to)
	}
}

// The second frame of one a second goes a second after the first (not at once, nor
// after the last loop).
func TestReplaySlowly(t *testing.T) {
	_, tx, rx := cable(t)
	if o := run("gen", "-w", "in.pcap", "--tag", "none", "--rate", "1Mpps", "--count", "2"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	r := result(t, run("replay", "in.pcap", "--tx", tx, "--rx", rx, "--rate", "1pps", "--json", "--quiet", "--out", t.TempDir()))
	if p := r.Phases[0]; p.Sent != 2 || p.Seconds < 1.999 || p.AskedPPS != 1 {
		t.Errorf("sent %d in %v s at %v a second, want 2 in 2 s", p.Sent, p.Seconds, p.AskedPPS)
	}
}

// A frame goes for each key, and the terminal is put back.
func TestReplayOneAtATime(t *testing.T) {
	_, tx, rx := cable(t)
	if o := run("gen", "-w", "in.pcap", "--tag", "none", "--rate", "1kpps", "--count", "9"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	ours, theirs := terminal(t)
	before := mode(t, theirs)
	c, stdout, stderr := command(t, nil, nil, "replay", "in.pcap", "--tx", tx, "--rx", rx, "--one-at-a-time", "--json", "--out", filepath.Join(t.TempDir(), "kept"))
	c.Stdin = theirs
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	await(t, ended, func() bool { return mode(t, theirs) != before })
	for _, key := range "xyzq" {
		time.Sleep(100 * time.Millisecond)
		if _, err := ours.WriteString(string(key)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		c.Process.Kill()
		t.Fatalf("still there a minute after q: %s", stderr)
	}
	if after := mode(t, theirs); after != before {
		t.Errorf("terminal mode %o, before %o", after, before)
	}
	var r scenarios.Result
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	if p := r.Phases[0]; p.Sent != 3 || p.Received != 3 || !r.Stopped {
		t.Errorf("sent %d, received %d, stopped %v, want 3 and stopped", p.Sent, p.Received, r.Stopped)
	}
	if n := strings.Count(stderr.String(), "198.18.0.1."); n != 3 {
		t.Errorf("%d frames told, want 3:\n%s", n, stderr)
	}
}

// terminal makes one, and returns the user's end and the program's.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	return ours, theirs
}

// mode is how a terminal is set: lines, echo and what else there is.
func mode(t *testing.T, tty *os.File) uint32 {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return s.Lflag
}
