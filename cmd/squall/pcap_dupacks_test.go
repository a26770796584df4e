package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dupRuns is the frame of the report that other programs rely on.
type dupRuns struct {
	Runs []struct {
		Conversation int    `json:"conversation"`
		From         string `json:"from"`
		To           string `json:"to"`
		Ack          uint32 `json:"ack"`
		Length       int    `json:"length"`
		First        string `json:"first"`
		Last         string `json:"last"`
	} `json:"runs"`
}

func runsOf(t *testing.T, args ...string) dupRuns {
	t.Helper()
	o := run(append([]string{"pcap", "dupacks", "--json"}, args...)...)
	var r dupRuns
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || o.code != exitPass || o.stderr != "" {
		t.Fatalf("pcap dupacks --json: %v, %+v", err, o)
	}
	return r
}

// What make makes, dupacks finds.
func TestPcapMakeDupacks(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		name string
		args string
		want []int
	}{
		{"as in the book", "--runs 5 --length 10 --gap 1s", []int{10, 10, 10, 10, 10}},
		{"several lengths at wire speed", "--runs 3 --length 9,10,11 --gap 10ms --rate 81274pps", []int{9, 10, 11}},
		{"lost, by bits", "--runs 2 --length 12 --gap 10ms --rate 1Gbit --cause loss --tap middle", []int{12, 12}},
		{"acks only, no options", "--runs 2 --length 4 --gap 20ms --cause acks-only --tap server --no-sack --no-timestamps", []int{4, 4}},
		{"IPv6 upload", "--runs 2 --length 4 --gap 20ms --sender client --client [2001:db8::1]:40000 --server [2001:db8::2]:80", []int{4, 4}},
		{"small frames, window, bytes", "--runs 1 --length 3 --gap 20ms --frame-size 128 --window 100000 --bytes 20000 --rtt 5ms --seed 9", []int{3}},
		{"none", "--runs 0 --gap 20ms", []int{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"pcap", "make", "dupacks", "out.pcap", "--start", "2026-01-02T15:04:05Z"}, strings.Fields(tt.args)...)
			o := run(args...)
			if o.code != exitPass || o.stdout != "" || !strings.Contains(o.stderr, "duplicate in") {
				t.Fatalf("%v: %+v", args, o)
			}
			got := []int{}
			for _, r := range runsOf(t, "out.pcap").Runs {
				got = append(got, r.Length)
				if r.First < "2026-01-02T15:04:05" || r.Last < r.First || r.Conversation != 0 {
					t.Errorf("run %+v, want one of conversation 0, from 15:04:05 on", r)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
			o = run("pcap", "reorder", "out.pcap", "--json")
			var order reorderJSON
			if err := json.Unmarshal([]byte(o.stdout), &order); err != nil || o.code != exitPass || len(order.Directions) != 2 {
				t.Fatalf("pcap reorder --json: %v, %+v", err, o)
			}
		})
	}
	for _, args := range [][]string{{"dupacks"}, {"reorder"}} {
		o := run(append(append([]string{"pcap"}, args...), "out.pcap", "--conversation", "0")...)
		if o.code != exitPass || !strings.Contains(o.stdout, "198.18.1.1:5001") {
			t.Errorf("pcap %v: %+v", args, o)
		}
	}
}

func TestPcapDupacksRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	if o := run("pcap", "make", "dupacks", "ok.pcap", "--runs", "1", "--length", "1", "--gap", "10ms"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	if err := os.WriteFile("text", []byte("not a capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ args, want string }{
		{"dupacks", "need one: a capture"},
		{"dupacks missing.pcap", "missing.pcap"},
		{"dupacks text", "no pcap or pcapng"},
		{"dupacks ok.pcap --at-least 0", "--at-least 0"},
		{"dupacks ok.pcap --conversation 7", "has no conversation 7"},
		{"dupacks ok.pcap --conversation -2", "numbered from 0"},
		{"dupacks ok.pcap --rule mine", `--rule "mine": need rfc5681 or tshark`},
		{"reorder", "need one: a capture"},
		{"reorder ok.pcap --conversation 7", "has no conversation 7"},
		{"make", "need two"},
		{"make streams.yaml", "need two"},
		{"make missing.yaml out.pcap -c 1", "missing.yaml"},
		{"make dupacks", "need one: the capture to write"},
		{"make dupacks out.pcap --length 0", "length of a run"},
		{"make dupacks out.pcap --rate 80%", "a capture has no link"},
		{"make dupacks out.pcap --rate max", "a capture has no link"},
		{"make dupacks out.pcap --rate 5", "no unit"},
		{"make dupacks out.pcap --gap 1ms", "need a gap"},
		{"make dupacks out.pcap --cause chance", `--cause "chance": need reorder, loss, acks-only`},
		{"make dupacks out.pcap --tap moon", "--tap"},
		{"make dupacks out.pcap --sender me", "--sender"},
		{"make dupacks out.pcap --client nowhere", "need address:port"},
		{"make dupacks out.pcap --client-mac 1", "need six bytes"},
		{"make dupacks out.pcap --start noon", "need a time"},
		{"make dupacks out.pcap --rtt 0", "--rtt"},
		{"make dupacks out.pcap --frame-size 60", "--frame-size 60"},
		{"make dupacks out.pcap --sack --no-sack", "sack"},
		{"make dupacks no/such/dir/out.pcap", "no/such/dir"},
	} {
		o := run(append([]string{"pcap"}, strings.Fields(tt.args)...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, tt.want) {
			t.Errorf("pcap %s: %+v, want exit code %d and %q", tt.args, o, exitUsage, tt.want)
		}
	}
	empty(t, "ok.pcap", "text")
}

// A stream file gives the frames that gen -f -w gives.
func TestPcapMakeStreams(t *testing.T) {
	t.Chdir(t.TempDir())
	const streams = `
streams:
  - name: small
    layers: [udp]
    size: 64
    rate: 10kpps
    tag: none
  - name: large
    layers: [udp]
    size: 512
    rate: 5kpps
    tag: none
`
	if err := os.WriteFile("streams.yaml", []byte(streams), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := run("gen", "-f", "streams.yaml", "-w", "a.pcap", "--count", "300"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	if o := run("pcap", "make", "streams.yaml", "b.pcap", "-c", "300"); o.code != exitPass || !strings.Contains(o.stderr, `"large"`) {
		t.Fatalf("%+v", o)
	}
	a, b := records(t, "a.pcap"), records(t, "b.pcap")
	if len(a) != 300 || !cmp.Equal(a, b) {
		t.Errorf("%d frames by gen, %d by make, want the same 300", len(a), len(b))
	}
	if o := run("pcap", "make", "streams.yaml", "c.pcap"); o.code != exitUsage || !strings.Contains(o.stderr, "--count") {
		t.Errorf("without an end: %+v", o)
	}
	empty(t, "streams.yaml", "a.pcap", "b.pcap")
}

// Tagged frames are measured by their stream's numbers.
func TestPcapReorderTagged(t *testing.T) {
	t.Chdir(t.TempDir())
	if o := run("gen", "--flows", "7", "--rate", "1kpps", "--count", "1000", "-w", "out.pcap"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	o := run("pcap", "reorder", "out.pcap", "--json")
	var r reorderJSON
	if err := json.Unmarshal([]byte(o.stdout), &r); err != nil || len(r.Streams) != 1 {
		t.Fatalf("%v, %+v", err, o)
	}
	if s := r.Streams[0]; s.Received != 1000 || s.Reordered != 0 || s.Missing != 0 {
		t.Errorf("stream %+v, want 1,000 frames in order", s)
	}
}

// The words that a capture's peculiarities are told in.
func TestPcapDupacksCaptures(t *testing.T) {
	dir := "../../../shared/captures"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no ../shared/captures")
	}
	for _, tt := range []struct{ name, stdout, stderr string }{
		{"dupack-runs.pcap", "768 duplicate ACKs (rfc5681) in 98 runs, 27 of them of 10 or more", ""},
		{"invalid-timestamp.pcap", "0 duplicate ACKs", "2 frames without a sound time stamp"},
		{"null-loopback.pcap", "0 duplicate ACKs", ""},
	} {
		o := run("pcap", "dupacks", filepath.Join(dir, tt.name))
		if o.code != exitPass || !strings.Contains(o.stdout, tt.stdout) || !strings.Contains(o.stderr, tt.stderr) {
			t.Errorf("%s: %+v, want %q on stdout and %q on stderr", tt.name, o, tt.stdout, tt.stderr)
		}
	}
}
