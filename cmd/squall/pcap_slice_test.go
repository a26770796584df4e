package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/pcaps"
)

// shared returns the absolute path of a capture made by others, or skips.
func shared(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../../shared/captures", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not here: %v", name, err)
	}
	return path
}

// witness runs another program, or skips where there is none.
func witness(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v, %s", name, args, err, out)
	}
}

// content lists a capture's records with all that a copy has to keep.
func content(t *testing.T, paths ...string) (list []string) {
	t.Helper()
	for _, path := range paths {
		early, err := eachRecord(path, func(r *pcaps.Record) error {
			list = append(list, fmt.Sprintf("%d %d/%d %v %x", r.Time, len(r.Data), r.Len, r.LinkType, r.Data))
			return nil
		})
		if err != nil || early != nil {
			t.Fatal(err, early)
		}
	}
	return list
}

// alike compares two captures record by record.
func alike(t *testing.T, what, want, got string) {
	t.Helper()
	w, g := content(t, want), content(t, got)
	if diff := cmp.Diff(w, g); diff != "" || len(w) == 0 {
		t.Errorf("%s: %d frames, want %d (-want +got):\n%.2000s", what, len(g), len(w), diff)
	}
}

// editcap and tcpdump choose the same frames.
func TestPcapSliceWitness(t *testing.T) {
	runs, gtpu := shared(t, "dupack-runs.pcap"), shared(t, "gtpu-truncated.pcapng")
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		name    string
		in      string
		args    []string
		witness []string // with IN and OUT for the names
	}{
		{"numbers", runs, []string{"--frames", "10-20,30,3000-"}, []string{"editcap", "-r", "IN", "OUT", "10-20", "30", "3000-3049"}},
		{"to a number", runs, []string{"--frames", "-5"}, []string{"editcap", "-r", "IN", "OUT", "1-5"}},
		{"times", runs, []string{"--from", "2021-03-03T08:08:09.59Z", "--to", "2021-03-03T08:08:09.5925Z"}, []string{"editcap", "-A", "2021-03-03T08:08:09.59Z", "-B", "2021-03-03T08:08:09.5925Z", "IN", "OUT"}},
		{"seconds since 1970", runs, []string{"--from", "1614758889.59", "--to", "1614758889.5925"}, []string{"editcap", "-A", "1614758889.59", "-B", "1614758889.5925", "IN", "OUT"}},
		{"a filter", runs, []string{"--filter", "tcp port 34963 and tcp[tcpflags] & tcp-push != 0"}, []string{"tcpdump", "-r", "IN", "-w", "OUT", "tcp port 34963 and tcp[tcpflags] & tcp-push != 0"}},
		{"a conversation", runs, []string{"--conversation", "1"}, []string{"tshark", "-r", "IN", "-w", "OUT", "tcp.stream==1"}},
		// Frame 1019 is of conversation 1: the first that the other flag chooses.
		{"a conversation's later frames", runs, []string{"--conversation", "1", "--frames", "1019-"}, []string{"tshark", "-r", "IN", "-w", "OUT", "tcp.stream==1 && frame.number>=1019"}},
		{"both", runs, []string{"--conversation", "0,1"}, []string{"tcpdump", "-r", "IN", "-w", "OUT", "tcp"}},
		{"cut frames keep their lengths", gtpu, []string{"--frames", "2-60"}, []string{"editcap", "-r", "IN", "OUT", "2-60"}},
		{"by length on the wire", gtpu, []string{"--filter", "greater 1000"}, []string{"tshark", "-r", "IN", "-w", "OUT", "frame.len>=1000"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			replaced := strings.Split(strings.ReplaceAll(strings.ReplaceAll(strings.Join(tt.witness, "\n"), "IN", tt.in), "OUT", "theirs.pcap"), "\n")
			witness(t, replaced[0], replaced[1:]...)
			for _, out := range []string{"ours.pcap", "ours.pcapng.zst"} {
				o := run(append([]string{"pcap", "slice", tt.in, out}, tt.args...)...)
				if o.code != exitPass || o.stderr != "" {
					t.Fatalf("%+v", o)
				}
				alike(t, out, "theirs.pcap", out)
			}
		})
	}
}

func slice(t *testing.T, args ...string) (sum sliceSum) {
	t.Helper()
	o := run(append([]string{"pcap", "slice", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(o.stdout), &sum); err != nil || o.code != exitPass {
		t.Fatalf("pcap slice %v: %v, %+v", args, err, o)
	}
	if sum.Read != sum.Written+sum.Left {
		t.Errorf("pcap slice %v: %d read, %d written, %d left out", args, sum.Read, sum.Written, sum.Left)
	}
	return sum
}

// ten writes ten frames 100 ms apart, of which the fourth has no sound time.
func ten(t *testing.T) {
	t.Helper()
	w, err := pcaps.CreateAs("ten.pcapng", pcaps.Format{Container: pcaps.Pcapng})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i := range 10 {
		f := make([]byte, 60)
		f[12], f[13], f[20] = 0x88, 0xb5, byte(i)
		if err := w.Write(f, 1e18+int64(i)*1e8); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("ten.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	const block = 32 + 60
	copy(b[28+32+3*block+12:], strings.Repeat("\xff", 8)) // after the year 2262
	if err := os.WriteFile("ten.pcapng", b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPcapSlice(t *testing.T) {
	t.Chdir(t.TempDir())
	ten(t)
	for _, tt := range []struct {
		name string
		args string
		want []byte // numbers of the frames, from 0
		sum  sliceSum
	}{
		{"everything", "", []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, sliceSum{Read: 10, Written: 10, Clamped: 1}},
		{"behind the first frame", "--from +200ms --to +0.6s", []byte{2, 4, 5}, sliceSum{Read: 10, Written: 3, Left: 7, NoTime: 1}},
		{"a date", "--from 2001-09-09T01:46:40.800000000Z", []byte{8, 9}, sliceSum{Read: 10, Written: 2, Left: 8, NoTime: 1}},
		{"a zone", "--to 2001-09-09T03:46:40.1+02:00", []byte{0}, sliceSum{Read: 10, Written: 1, Left: 9, NoTime: 1}},
		{"every third", "--every 3", []byte{0, 3, 6, 9}, sliceSum{Read: 10, Written: 4, Left: 6, Clamped: 1}},
		{"every second of some", "--every 2 --frames 2-7", []byte{1, 3, 5}, sliceSum{Read: 7, Written: 3, Left: 4, Clamped: 1}},
		{"of two flags", "--frames 1-3,9- --from +200ms", []byte{2, 8, 9}, sliceSum{Read: 10, Written: 3, Left: 7}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sum := slice(t, append([]string{"ten.pcapng", "out.pcap"}, strings.Fields(tt.args)...)...)
			tt.sum.In, tt.sum.Out, tt.sum.Format = "ten.pcapng", "out.pcap", "pcap"
			if diff := cmp.Diff(tt.sum, sum); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
			var got []byte
			if _, err := eachRecord("out.pcap", func(r *pcaps.Record) error { got = append(got, r.Data[20]); return nil }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
		})
	}
	if o := run("pcap", "slice", "ten.pcapng", "out.pcap", "--from", "+1ms"); !strings.Contains(o.stdout, "1 left out: without a sound time") {
		t.Errorf("%+v", o)
	}
}

func TestPcapSliceRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	ten(t)
	for _, tt := range []struct{ args, say string }{
		{"--frames 0-3", "numbered from 1"},
		{"--frames 5-3", "ends before it begins"},
		{"--frames -", "need numbers and ranges"},
		{"--frames 1,,2", "need numbers and ranges"},
		{"--from soon", `--from "soon": need a time`},
		{"--to +5", "as +1.5s"},
		{"--to 1900-01-01", "1970 to 2262"},
		{"--from 12.1234567891", "need a time"},
		{"--every 0", "need 1 or more"},
		{"--conversation -1", "numbered from 0"},
		{"--filter tcp[", `filter "tcp["`},
		{"--filter ip", "none of its frames is chosen (10 read)"},
		{"--conversation 7", "none of its frames is chosen"},
	} {
		o := run(append([]string{"pcap", "slice", "ten.pcapng", "no.pcap"}, strings.Fields(tt.args)...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, tt.say) || o.stdout != "" {
			t.Errorf("%s: %+v, want code 2 and %q", tt.args, o, tt.say)
		}
	}
	if left, _ := filepath.Glob("no.pcap*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if o := run("pcap", "slice", "ten.pcapng"); o.code != exitUsage || !strings.Contains(o.stderr, "need two") {
		t.Errorf("%+v", o)
	}
}

// Frames of two link types go to pcapng as they are, and not to a pcap.
func TestPcapSliceLinkTypes(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := pcaps.CreateAs("two.pcapng", pcaps.Format{Container: pcaps.Pcapng})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i, link := range []pcaps.LinkType{pcaps.Ethernet, 182} {
		if err := w.WriteRecord(pcaps.Record{Data: make([]byte, 60), Len: 100, Time: int64(i) + 1, LinkType: link, Interface: i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	slice(t, "two.pcapng", "out.pcapng")
	alike(t, "copy", "two.pcapng", "out.pcapng")
	if o := run("pcap", "slice", "two.pcapng", "out.pcap"); o.code != exitUsage || !strings.Contains(o.stderr, "write pcapng") {
		t.Errorf("%+v", o)
	}
	if sum := slice(t, "two.pcapng", "out.pcap", "--filter", "len = 100"); sum.LinkType != 1 || sum.Written != 1 {
		t.Errorf("%+v, want one frame left out by its link type", sum)
	}
}

// A capture that ends in mid-record is good up to there.
func TestPcapSliceEndsEarly(t *testing.T) {
	t.Chdir(t.TempDir())
	ten(t)
	b, err := os.ReadFile("ten.pcapng")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("cut.pcapng", b[:len(b)-20], 0o644); err != nil {
		t.Fatal(err)
	}
	o := run("pcap", "slice", "cut.pcapng", "out.pcap")
	if o.code != exitPass || !strings.Contains(o.stderr, "ends within this record") || !strings.Contains(o.stdout, "out.pcap: 9 frames") {
		t.Errorf("%+v", o)
	}
}
