package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"squall/internal/lab"
	"squall/internal/port"
	"squall/internal/port/packet"
	"squall/internal/wire"
	"squall/pcaps"
	"squall/scenarios"
)

// A run, its directory, and its report again.
func TestGen(t *testing.T) {
	_, tx, rx := cable(t)
	o := run("gen", "--engine", "packet", "--tx", tx, "--rx", rx, "--rate", "5kpps", "--count", "2000", "--flows", "4", "--out", "kept")
	if o.code == exitUsage {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	for _, s := range []string{"engine packet", "kept in kept", `stream 1 "1": ethernet/ipv4/udp, size 64 with FCS, 4 flows`} {
		if !strings.Contains(o.stderr, s) {
			t.Errorf("stderr does not say %q:\n%s", s, o.stderr)
		}
	}
	if strings.Contains(o.stderr, "\r") || strings.Contains(o.stdout, "\r") {
		t.Errorf("a line is written over where there is no terminal: %q", o.stderr)
	}
	for _, name := range []string{"run.json", "samples.ndjson", "events.ndjson", "scenario.yaml"} {
		if _, err := os.Stat(filepath.Join("kept", name)); err != nil {
			t.Error(err)
		}
	}
	again := run("report", "kept")
	if diff := cmp.Diff(o.stdout, again.stdout); diff != "" || again.code != exitPass {
		t.Errorf("report again, exit code %d (-want +got):\n%s", again.code, diff)
	}
	kept, err := os.ReadFile("kept/run.json")
	if err != nil {
		t.Fatal(err)
	}
	again = run("report", "--json", "kept")
	if diff := cmp.Diff(string(kept), again.stdout); diff != "" || again.code != exitPass {
		t.Errorf("run.json again, exit code %d (-want +got):\n%s", again.code, diff)
	}
	r := result(t, again)
	balanced(t, r)
	if r.Ledger.Sent != 2000 || r.TX != tx || r.RX != rx {
		t.Errorf("sent %d from %s to %s", r.Ledger.Sent, r.TX, r.RX)
	}
}

func TestGenFromFile(t *testing.T) {
	_, tx, rx := cable(t)
	if err := os.WriteFile("streams.yaml", []byte("streams:\n  - name: slow\n    rate: 1kpps\n  - name: fast\n    rate: 3kpps\n    size: imix\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := run("gen", "-f", "streams.yaml", "--tx", tx, "--rx", rx, "--count", "1000", "--json", "--quiet", "--out", "kept")
	r := result(t, o)
	balanced(t, r)
	if s := r.Phases[0].Streams; len(s) != 2 || s[0].Name != "slow" || s[0].Sent != 250 || s[1].Name != "fast" || s[1].Sent != 750 {
		t.Errorf("streams %+v, want 250 slow and 750 fast frames", s)
	}
	if o.stderr != "" {
		t.Errorf("quiet, and stderr says %q", o.stderr)
	}
	kept, err := os.ReadFile("kept/scenario.yaml")
	if err != nil || !bytes.Contains(kept, []byte("name: fast")) {
		t.Errorf("scenario.yaml %q, %v, want the stream file", kept, err)
	}
}

// The annotated example is one that works.
func TestGenReference(t *testing.T) {
	t.Chdir(t.TempDir())
	o := run("gen", "--reference")
	if o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	if err := os.WriteFile("reference.yaml", []byte(o.stdout), 0o644); err != nil {
		t.Fatal(err)
	}
	if o := run("gen", "-f", "reference.yaml", "-w", "out.pcap", "--count", "500"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	if n := len(records(t, "out.pcap")); n != 500 {
		t.Errorf("%d frames, want 500", n)
	}
}

// Schedules that are not one steady rate.
func TestGenSchedules(t *testing.T) {
	_, tx, _ := cable(t)
	tests := []struct {
		name string
		args []string
		pps  float64 // asked
		sent uint64  // 0: any
	}{
		{"as fast as can be", []string{"--count", "100"}, 0, 100},
		{"bursts at a rate", []string{"--burst", "50", "--rate", "1kpps", "--count", "200"}, 1000, 200},
		{"bursts at a gap", []string{"--burst", "50", "--gap", "50ms", "--count", "200"}, 1000, 200},
		{"ramp", []string{"--ramp-from", "1pps", "--rate", "2kpps", "--ramp-over", "400ms", "--duration", "400ms"}, 1000, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := run(append([]string{"gen", "--tx", tx, "--json", "--quiet", "--out", t.TempDir()}, tt.args...)...)
			r := result(t, o)
			balanced(t, r)
			p := r.Phases[0]
			if p.AskedPPS < tt.pps*0.97 || p.AskedPPS > tt.pps*1.03 || tt.sent != 0 && p.Sent != tt.sent {
				t.Errorf("asked %g frames a second, sent %d, want %g, %d", p.AskedPPS, p.Sent, tt.pps, tt.sent)
			}
			if tt.pps == 0 && (o.code != exitPass || r.Verdict.Result != scenarios.Pass) {
				t.Errorf("exit code %d, verdict %+v, want pass", o.code, r.Verdict)
			}
		})
	}
}

// records reads a capture.
func records(t *testing.T, path string) (frames [][]byte) {
	t.Helper()
	r, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err == io.EOF {
			return frames
		}
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, bytes.Clone(rec.Data))
	}
}

// The frames of -w are those that a port gets, byte for byte apart from the tag's
// run and time and the checksum over them.
func TestWrittenAndSent(t *testing.T) {
	const count = 120
	common := []string{"--size", "82,128,594", "--flows", "6", "--vlan", "5", "--src-mac", "02:00:00:00:00:01", "--dst-mac", "02:00:00:00:00:02", "--count", "120"}
	captures := []struct {
		name    string
		capture func(t *testing.T, p *lab.Pair, send func()) [][]byte
	}{{"squall's reader", readFrames}, {"tcpdump", func(t *testing.T, p *lab.Pair, send func()) [][]byte { return tcpdump(t, p, 120, send) }}}
	for _, tt := range captures {
		t.Run(tt.name, func(t *testing.T) {
			p, tx, _ := cable(t)
			if o := run(append([]string{"gen", "-w", "out.pcap"}, common...)...); o.code != exitPass {
				t.Fatalf("%+v", o)
			}
			written := records(t, "out.pcap")
			sent := tt.capture(t, p, func() {
				if o := run(append([]string{"gen", "--tx", tx, "--rate", "2kpps"}, common...)...); o.code == exitUsage {
					t.Fatalf("%+v", o)
				}
			})
			if len(written) != count || len(sent) != count {
				t.Fatalf("%d frames written, %d captured, want %d", len(written), len(sent), count)
			}
			for i := range written {
				neutral(t, written[i])
				neutral(t, sent[i])
				if diff := cmp.Diff(written[i], sent[i]); diff != "" {
					t.Fatalf("frame %d (-written +captured):\n%s", i, diff)
				}
			}
		})
	}
}

// neutral takes out of a frame what differs from run to run.
func neutral(t *testing.T, frame []byte) {
	t.Helper()
	tag, ok := wire.FindTag(frame)
	if !ok {
		t.Fatalf("no tag in % x", frame)
	}
	i := bytes.LastIndex(frame, []byte("Sq")) // what a tag begins with
	wire.Tag{Stream: tag.Stream, Seq: tag.Seq}.Put(frame[i:])
	udp := wire.Parse(frame).L4
	clear(frame[udp+6 : udp+8])
}

// readFrames takes what is sent off the other end.
func readFrames(t *testing.T, p *lab.Pair, send func()) (frames [][]byte) {
	ref := port.Ref{NetNS: p.B.NS.Path(), Iface: p.B.Iface}
	o, err := port.Open(ref)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	r, err := packet.OpenReader(o, packet.ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	send()
	for {
		got, err := r.Receive(300 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 {
			return frames
		}
		for _, f := range got {
			frames = append(frames, bytes.Clone(f.Data))
		}
	}
}

// tcpdump captures n frames of what is sent at the other end.
func tcpdump(t *testing.T, p *lab.Pair, n int, send func()) [][]byte {
	path := filepath.Join(t.TempDir(), "peer.pcap")
	c := p.B.NS.Command("tcpdump", "-i", p.B.Iface, "-c", strconv.Itoa(n), "-B", "16384", "-w", path, "-Z", "root", "-Q", "in", "not ip6")
	if c.Err != nil {
		t.Skip("needs tcpdump, of Debian's package of that name")
	}
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	began := make(chan bool)
	go func() {
		var said strings.Builder
		buf := make([]byte, 256)
		for {
			n, err := stderr.Read(buf)
			said.Write(buf[:n])
			if strings.Contains(said.String(), "listening on") {
				break
			}
			if err != nil {
				began <- false
				return
			}
		}
		began <- true
		io.Copy(io.Discard, stderr)
	}()
	if !<-began {
		t.Fatal("tcpdump did not begin")
	}
	send()
	end := time.AfterFunc(10*time.Second, func() { c.Process.Kill() })
	defer end.Stop()
	if err := c.Wait(); err != nil {
		t.Fatalf("tcpdump: %v", err)
	}
	return records(t, path)
}

func TestReplay(t *testing.T) {
	_, tx, rx := cable(t)
	if o := run("gen", "-w", "in.pcap", "--proto", "tcp", "--tag", "none", "--size", "imix", "--flows", "8", "--rate", "2kpps", "--count", "400"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	tests := []struct {
		name string
		args []string
		sent uint64
		pps  float64
	}{
		{"as captured", nil, 400, 2000},
		{"twice as fast, twice", []string{"--speed", "2", "--loop", "2"}, 800, 4000},
		{"at a rate", []string{"--rate", "1kpps"}, 400, 1000},
		{"top speed", []string{"--topspeed"}, 400, 0},
		{"for a time", []string{"--duration", "100ms"}, 0, 2000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := run(append([]string{"replay", "in.pcap", "--tx", tx, "--rx", rx, "--json", "--quiet", "--out", t.TempDir()}, tt.args...)...)
			r := result(t, o)
			balanced(t, r)
			p := r.Phases[0]
			if tt.sent != 0 && p.Sent != tt.sent || p.AskedPPS < tt.pps*0.97 || p.AskedPPS > tt.pps*1.03 {
				t.Errorf("sent %d, asked %g frames a second, want %d, %g", p.Sent, p.AskedPPS, tt.sent, tt.pps)
			}
		})
	}
}

// cut runs a long run and does something to the sending port in the middle.
func cut(t *testing.T, p *lab.Pair, how func(netlink.Link) error, args ...string) (output, time.Duration) {
	t.Helper()
	done := make(chan time.Time, 1)
	go func() {
		// Once the run has begun it has told of its first phase.
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat("kept/events.ndjson"); err == nil {
				break
			}
		}
		time.Sleep(200 * time.Millisecond)
		at := time.Now()
		err := p.A.NS.Do(func() error {
			l, err := netlink.LinkByName(p.A.Iface)
			if err != nil {
				return err
			}
			return how(l)
		})
		if err != nil {
			t.Error(err)
		}
		done <- at
	}()
	o := run(append([]string{"gen", "--tx", portOf(p.A), "--rx", portOf(p.B), "--rate", "2kpps", "--duration", "1m", "--out", "kept"}, args...)...)
	return o, time.Since(<-done)
}

func TestLinkLost(t *testing.T) {
	for name, how := range map[string]func(netlink.Link) error{"set down": netlink.LinkSetDown, "deleted": netlink.LinkDel} {
		t.Run(name, func(t *testing.T) {
			p, tx, _ := cable(t)
			o, took := cut(t, p, how)
			if o.code != exitVoid || !strings.Contains(o.stdout, "verdict: VOID") {
				t.Errorf("exit code %d, want %d:\n%s", o.code, exitVoid, o.stdout)
			}
			if !strings.Contains(o.stderr, tx) {
				t.Errorf("stderr does not name %s:\n%s", tx, o.stderr)
			}
			if took > 20*time.Second {
				t.Errorf("the run went on for %v", took)
			}
			events, err := os.ReadFile("kept/events.ndjson")
			if err != nil || !bytes.Contains(events, []byte(`"event":"link"`)) {
				t.Errorf("events, %v: %s", err, events)
			}
		})
	}
}

// Without room in the run directory the run goes on, says so, and does not end as one
// that passed.
func TestDiskFull(t *testing.T) {
	_, tx, _ := cable(t)
	if err := os.Mkdir("full", 0o755); err != nil {
		t.Fatal(err)
	}
	wrap := []string{"unshare", "--mount", "sh", "-c", `mount -t tmpfs -o size=4k tiny full && exec "$@"`, "sh"}
	// As fast as can be, so that it passes on any machine.
	o := process(t, nil, wrap, "gen", "--tx", tx, "--rate", "max", "--count", "1000", "--quiet", "--out", "full")
	if !strings.Contains(o.stdout, "verdict: PASS") || o.code != exitUsage || !strings.Contains(o.stderr, `run directory "full" is incomplete`) {
		t.Errorf("exit code %d, want a run that passes and %d: %s\n%s", o.code, exitUsage, o.stderr, o.stdout)
	}
	for _, s := range []string{`run directory "full" is incomplete`, "no space left", "verdict:", "1,000  sent"} {
		if !strings.Contains(o.stdout, s) {
			t.Errorf("the report does not say %q:\n%s", s, o.stdout)
		}
	}
}
