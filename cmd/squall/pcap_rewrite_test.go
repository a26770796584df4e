package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/internal/wire"
	"squall/pcaps"
)

// rewriteCmd runs squall pcap rewrite.
func rewriteCmd(args ...string) (stdout string, err error) {
	c := newPcapRewrite()
	c.SilenceErrors, c.SilenceUsage = true, true
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err = c.Execute()
	return out.String(), err
}

func readAll(t *testing.T, path string) (frames [][]byte) {
	t.Helper()
	r, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if err != nil {
			return frames
		}
		frames = append(frames, bytes.Clone(rec.Data))
	}
}

// sharedCapture returns the path of a capture of other people's.
func sharedCapture(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "captures", name)
	if dir := os.Getenv("SQUALL_CAPTURES"); dir != "" {
		path = filepath.Join(dir, name)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no capture at %s; set SQUALL_CAPTURES to the directory that has it", path)
	}
	return path
}

// Rewritten there and back again is the capture, and every frame was changed
// in between.
func TestPcapRewriteRoundTrip(t *testing.T) {
	in, dir := sharedCapture(t, "dupack-runs.pcap"), t.TempDir()
	there, back := filepath.Join(dir, "there.pcap"), filepath.Join(dir, "back.pcapng.gz")
	out, err := rewriteCmd(in, there, "--map", "0.0.0.0/1=128.0.0.0/1", "--map", "128.0.0.0/1=0.0.0.0/1", "--port-map", "1024=2048", "--vlan-add", "5/0x88a8", "--seq-shift", "4000000000", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var got rewriteJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := rewriteJSON{Read: 3049, Changed: 3049, Written: 3049, By: map[string]uint64{"address": 3049, "port": 3046, "vlan": 3049, "sequence": 3046}, Left: map[string]uint64{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := rewriteCmd(there, back, "--map", "0.0.0.0/1=128.0.0.0/1", "--map", "128.0.0.0/1=0.0.0.0/1", "--port-map", "2048=1024", "--vlan-del", "all", "--seq-shift", "-4000000000"); err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(readAll(t, in), readAll(t, back)) {
		t.Error("there and back again is another capture")
	}
}

// Every copy is a conversation of its own.
func TestPcapRewriteCopies(t *testing.T) {
	in, path := sharedCapture(t, "dupack-runs.pcap"), filepath.Join(t.TempDir(), "copies.pcap")
	if _, err := rewriteCmd(in, path, "--copies", "50", "--copy-stride", "300"); err != nil {
		t.Fatal(err)
	}
	one, all := flowsOf(readAll(t, in)), flowsOf(readAll(t, path))
	if len(all) != 50*len(one) {
		t.Errorf("%d flows in 50 copies of %d", len(all), len(one))
	}
	for key, n := range all {
		if n != one[key] && one[key] != 0 {
			t.Errorf("copy 0 of a flow has %d frames, need %d", n, one[key])
		}
	}
}

func flowsOf(frames [][]byte) map[uint64]int {
	flows := map[uint64]int{}
	for _, f := range frames {
		if key, ok := wire.FlowKey(f, wire.Parse(f)); ok {
			flows[key]++
		}
	}
	return flows
}

// What the wire would see of TSO-sized frames, by tshark: no bad checksum, and
// the stream that was.
func TestPcapRewriteSegments(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed: apt-get install tshark")
	}
	dir := t.TempDir()
	in, path := filepath.Join(dir, "in.pcap"), filepath.Join(dir, "out.pcap")
	head := []byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00" +
		"\x45\x00\x00\x00\x00\x01\x40\x00\x40\x06\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02" +
		"\x0f\xa0\x0f\xa1\x00\x00\x03\xe8\x00\x00\x00\x01\x50\x18\x01\x00\x00\x00\x00\x00")
	body := bytes.Repeat([]byte("0123456789"), 2000)
	w, err := pcaps.Create(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{20_000, 100} {
		if err := w.Write(append(bytes.Clone(head), body[:n]...), 1e9); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := rewriteCmd(in, path, "--mtu", "1500", "--oversize", "segment", "--fix-checksums")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2  frames read", "1  too long for the MTU of 1500: segmented, in 14 frames", "15  frames written", "2    by checksum"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var data []byte
	for _, f := range readAll(t, path)[:14] {
		data = append(data, f[54:]...)
	}
	if !bytes.Equal(data, body) {
		t.Error("the segments are not the frame's content")
	}
	bad, err := exec.Command("tshark", "-n", "-r", path, "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-Y", `(ip.checksum.status=="Bad" || tcp.checksum.status=="Bad") && frame.len > 1000`).Output()
	if err != nil || len(bad) > 0 {
		t.Errorf("tshark: %v:\n%s", err, bad)
	}
}

func TestPcapRewriteLeavesOut(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		file string
		args []string
		says []string
	}{
		{"gtpu-truncated.pcapng", []string{"--layer", "all", "--teid", "+1", "--ttl", "-1"}, []string{"82  frames read", "82    by teid", "82  frames written", "28  of these as the snap length cut them"}},
		{"gtpu-truncated.pcapng", []string{"--mtu", "68"}, []string{"left out: too long for the MTU: cut by the snap length"}},
		{"gtpu-truncated.pcapng", []string{"--mtu", "1000", "--oversize", "truncate"}, []string{"50  too long for the MTU of 1000: truncated, in 50 frames", "82  frames written"}},
		{"sll-nanosecond.pcap", []string{"--dmac", "02:00:00:00:00:77"}, []string{"3  of these given an Ethernet header", "3  frames written"}},
		{"frame-relay-unsupported.pcap", nil, []string{"left out: ", "0  frames written"}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			path := filepath.Join(dir, "out.pcap")
			out, err := rewriteCmd(append([]string{sharedCapture(t, tt.file), path}, tt.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.says {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

func TestPcapRewriteRefuses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.pcap")
	tests := []struct {
		args []string
		says string
	}{
		{[]string{"one.pcap"}, "have 1 arguments, need two"},
		{[]string{"no.pcap", out}, `capture "no.pcap"`},
		{[]string{"no.pcap", out, "--ttl", "300"}, `--ttl "300": need 0 to 255`},
		{[]string{"no.pcap", out, "--map", "10.0.0.0/8=11.0.0.0/9"}, `--map "10.0.0.0/8=11.0.0.0/9": have /8 and /9`},
		{[]string{"no.pcap", out, "--copies", "0"}, "need at least one"},
		{[]string{"no.pcap", out, "--copy-step", "src"}, "there are no copies"},
		{[]string{"no.pcap", out, "--mtu", "20"}, "--mtu 20: need 68 to 65535"},
		{[]string{"no.pcap", out, "--oversize", "segment"}, "give --mtu as well"},
		{[]string{"no.pcap", out, "--mtu", "1500", "--oversize", "drop"}, `--oversize "drop": need skip, fragment, segment or truncate`},
	}
	for _, tt := range tests {
		if _, err := rewriteCmd(tt.args...); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: error %v, want %q", tt.args, err, tt.says)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a capture was written nevertheless")
	}
}
