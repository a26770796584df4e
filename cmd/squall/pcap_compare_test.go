package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/pcaps/compare"
)

func compared(t *testing.T, code int, args ...string) *compareJSON {
	t.Helper()
	o := run(append([]string{"pcap", "compare", "--json"}, args...)...)
	r := &compareJSON{}
	if err := json.Unmarshal([]byte(o.stdout), r); err != nil || o.code != code || o.stderr != "" {
		t.Fatalf("pcap compare %v: %v, %+v; want code %d", args, err, o, code)
	}
	if r.Equal != (code == exitPass) {
		t.Errorf("pcap compare %v: code %d, equal %v", args, code, r.Equal)
	}
	return r
}

// What editcap did to a capture is found.
func TestPcapCompareWitness(t *testing.T) {
	in := shared(t, "dupack-runs.pcap")
	t.Chdir(t.TempDir())
	compared(t, exitPass, in, in)

	witness(t, "editcap", in, "fewer.pcap", "100", "200-209")
	if r := compared(t, exitFail, in, "fewer.pcap"); r.Missing != 11 || r.Same != 3038 || r.Altered+r.Extra+r.Duplicated+r.Reordered.Frames > 0 {
		t.Errorf("11 frames deleted: %+v", r.Report)
	}
	if r := compared(t, exitFail, "fewer.pcap", in); r.Extra != 11 || r.Same != 3038 || r.Altered+r.Missing+r.Duplicated > 0 {
		t.Errorf("11 frames more: %+v", r.Report)
	}
	witness(t, "editcap", "-r", in, "one.pcap", "500")
	witness(t, "mergecap", "-a", "-w", "twice.pcap", in, "one.pcap")
	if r := compared(t, exitFail, in, "twice.pcap"); r.Duplicated != 1 || r.Same != 3049 || r.Extra+r.Missing+r.Altered > 0 {
		t.Errorf("one frame twice: %+v", r.Report)
	}
	// The first 1,000 frames come last: each is late.
	witness(t, "editcap", "-r", in, "front.pcap", "1-1000")
	witness(t, "editcap", in, "back.pcap", "1-1000")
	witness(t, "mergecap", "-a", "-w", "turned.pcap", "back.pcap", "front.pcap")
	if r := compared(t, exitFail, in, "turned.pcap"); r.Reordered.Frames != 1000 || r.Reordered.MaxExtent < 2049 || r.Same != 3049 {
		t.Errorf("the front behind the back: %+v", r.Report)
	}
	witness(t, "editcap", "-s", "60", in, "cut.pcap")
	if r := compared(t, exitFail, in, "cut.pcap"); r.Altered == 0 || r.Missing+r.Extra > 0 || r.B.Cut == 0 {
		t.Errorf("cut: %+v", r.Report)
	}
	compared(t, exitPass, in, "cut.pcap", "--snaplen", "60")
}

// What rewrite does is what is said to differ. It changes addresses within ARP as well,
// which is payload here: only TCP is looked at.
func TestPcapCompareRewritten(t *testing.T) {
	all, in := shared(t, "dupack-runs.pcap"), "tcp.pcap"
	t.Chdir(t.TempDir())
	if o := run("pcap", "slice", all, in, "--filter", "tcp"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	for _, tt := range []struct {
		name, rewrite, ignore string
		code                  int
		fields                []string // that differ, in some frames at least
	}{
		{"a hop", "--ttl -1 --smac 02:00:00:00:00:05 --dmac 02:00:00:00:00:06", "", exitFail, []string{"dst-mac", "ip-checksum", "src-mac", "ttl"}},
		{"a hop, ignored", "--ttl -1 --smac 02:00:00:00:00:05 --dmac 02:00:00:00:00:06", "--routed", exitPass, nil},
		{"by names", "--ttl -1 --smac 02:00:00:00:00:05 --dmac 02:00:00:00:00:06", "--ignore ttl,macs,checksums", exitPass, nil},
		{"not all ignored", "--ttl -1 --smac 02:00:00:00:00:05", "--ignore macs,checksums", exitFail, []string{"ttl"}},
		{"a VLAN", "--vlan-add 7", "", exitFail, []string{"vlan"}},
		{"a VLAN, ignored", "--vlan-add 7", "--ignore vlan", exitPass, nil},
		{"sequence numbers", "--seq-shift 1000", "--ignore checksums", exitFail, []string{"ack", "seq"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if o := run(append([]string{"pcap", "rewrite", in, "out.pcap"}, strings.Fields(tt.rewrite)...)...); o.code != exitPass {
				t.Fatalf("%+v", o)
			}
			r := compared(t, tt.code, append([]string{in, "out.pcap"}, strings.Fields(tt.ignore)...)...)
			var got []string
			for _, f := range r.Fields {
				got = append(got, f.Field)
			}
			sorted := cmp.Transformer("sorted", func(s []string) map[string]bool {
				m := map[string]bool{}
				for _, x := range s {
					m[x] = true
				}
				return m
			})
			if diff := cmp.Diff(tt.fields, got, sorted); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if r.Missing+r.Extra+r.Duplicated > 0 {
				t.Errorf("%d missing, %d extra, %d duplicated, want none", r.Missing, r.Extra, r.Duplicated)
			}
		})
	}
}

func TestPcapCompareText(t *testing.T) {
	t.Chdir(t.TempDir())
	ten(t)
	if o := run("pcap", "slice", "ten.pcapng", "nine.pcap", "--frames", "1-4,6-"); o.code != exitPass {
		t.Fatalf("%+v", o)
	}
	o := run("pcap", "compare", "ten.pcapng", "nine.pcap")
	if o.code != exitFail || o.stderr != "" || !strings.Contains(o.stdout, "missing     1") || !strings.Contains(o.stdout, "5           -     missing") {
		t.Errorf("%+v", o)
	}
	if o := run("pcap", "compare", "ten.pcapng", "ten.pcapng"); o.code != exitPass || !strings.Contains(o.stdout, "same        10") {
		t.Errorf("%+v", o)
	}
	if o := run("pcap", "compare", "ten.pcapng", "nine.pcap", "--list", "0"); !strings.Contains(o.stdout, "and 1 more") {
		t.Errorf("%+v", o)
	}
	for _, tt := range []struct{ args, say string }{
		{"ten.pcapng nine.pcap --ignore tll", `field "tll"`},
		{"ten.pcapng nine.pcap --snaplen 5", "at least 14"},
		{"ten.pcapng nine.pcap --list -1", "need 0 or more"},
		{"ten.pcapng", "need two captures"},
		{"- -", "standard input is one capture"},
		{"ten.pcapng nowhere.pcap", "nowhere.pcap"},
	} {
		if o := run(append([]string{"pcap", "compare"}, strings.Fields(tt.args)...)...); o.code != exitUsage || !strings.Contains(o.stderr, tt.say) {
			t.Errorf("%s: %+v, want code 2 and %q", tt.args, o, tt.say)
		}
	}
}

// The help names every field that there is.
func TestPcapCompareHelp(t *testing.T) {
	help := newPcapCompare().Long
	_, err := compare.ParseSet([]string{"?"})
	_, all, _ := strings.Cut(err.Error(), "have ")
	for _, name := range strings.Split(all, ", ") {
		if !strings.Contains(help, name) {
			t.Errorf("the help does not name %q", name)
		}
	}
}
