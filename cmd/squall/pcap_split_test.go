package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/pcaps"
)

func split(t *testing.T, args ...string) (sum splitSum) {
	t.Helper()
	o := run(append([]string{"pcap", "split", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(o.stdout), &sum); err != nil || o.code != exitPass {
		t.Fatalf("pcap split %v: %v, %+v", args, err, o)
	}
	n := uint64(0)
	for _, f := range sum.Files {
		n += f.Frames
	}
	if n != sum.Read {
		t.Errorf("pcap split %v: %d read, %d written", args, sum.Read, n)
	}
	return sum
}

func paths(sum splitSum) (list []string) {
	for _, f := range sum.Files {
		list = append(list, f.Path)
	}
	return list
}

// Each way of splitting loses nothing: all files together have IN's records.
func TestPcapSplit(t *testing.T) {
	in := shared(t, "dupack-runs.pcap")
	t.Chdir(t.TempDir())
	all := content(t, in)
	slices.Sort(all)
	for _, tt := range []struct {
		by    string
		files []string // ending in * where there are more
		count []uint64
	}{
		{"conversation", []string{"p-other.pcap", "p-0.pcap", "p-1.pcap"}, []uint64{3, 1987, 1059}},
		{"side", []string{"p-other.pcap", "p-client.pcap", "p-server.pcap"}, []uint64{3, 1094, 1952}},
		{"interface", []string{"p-0.pcap"}, []uint64{3049}},
		{"frames=1000", []string{"p-00000.pcap", "p-00001.pcap", "p-00002.pcap", "p-00003.pcap"}, []uint64{1000, 1000, 1000, 49}},
		{"time=4ms", []string{"p-00000.pcap", "p-00001.pcap"}, []uint64{934, 2115}},
		{"size=100k", []string{"p-00000.pcap", "p-00001.pcap", "p-00002.pcap"}, nil},
	} {
		t.Run(tt.by, func(t *testing.T) {
			sum := split(t, in, "p", "--by", tt.by)
			if diff := cmp.Diff(tt.files, paths(sum)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			for i, n := range tt.count {
				if sum.Files[i].Frames != n {
					t.Errorf("%s: %d frames, want %d", sum.Files[i].Path, sum.Files[i].Frames, n)
				}
			}
			got := content(t, paths(sum)...)
			slices.Sort(got)
			if diff := cmp.Diff(all, got); diff != "" {
				t.Errorf("frames (-want +got):\n%.2000s", diff)
			}
		})
	}
}

// tshark and editcap have the same in each file.
func TestPcapSplitWitness(t *testing.T) {
	in := shared(t, "dupack-runs.pcap")
	t.Chdir(t.TempDir())
	split(t, in, "c", "--by", "conversation")
	for id, filter := range map[string]string{"0": "tcp.stream==0", "1": "tcp.stream==1", "other": "!tcp"} {
		witness(t, "tshark", "-r", in, "-w", "theirs.pcap", filter)
		alike(t, filter, "theirs.pcap", "c-"+id+".pcap")
	}
	split(t, in, "s", "--by", "side")
	witness(t, "tshark", "-r", in, "-w", "theirs.pcap", "tcp.dstport==1024")
	alike(t, "client", "theirs.pcap", "s-client.pcap")
	split(t, in, "f", "--by", "frames=700")
	witness(t, "editcap", "-c", "700", in, "theirs-f.pcap")
	theirs, _ := filepath.Glob("theirs-f_*")
	slices.Sort(theirs)
	if len(theirs) != 5 {
		t.Fatalf("editcap made %v", theirs)
	}
	for i, path := range theirs {
		alike(t, path, path, "f-"+piece(uint64(i))+".pcap")
	}
	split(t, in, "net", "--by", "side", "--client-net", "10.102.0.0/16")
	witness(t, "tshark", "-r", in, "-w", "theirs.pcap", "tcp.srcport==1024")
	alike(t, "client by network", "theirs.pcap", "net-client.pcap")
}

// No file is larger than what was asked for, in either format.
func TestPcapSplitSize(t *testing.T) {
	in := shared(t, "dupack-runs.pcap")
	t.Chdir(t.TempDir())
	for _, format := range []string{"pcap", "pcapng"} {
		sum := split(t, in, format, "--by", "size=20k", "--format", format)
		for i, f := range sum.Files {
			info, err := os.Stat(f.Path)
			if err != nil {
				t.Fatal(err)
			}
			if n := info.Size(); n > 20_000 || n < 19_700 && i < len(sum.Files)-1 {
				t.Errorf("%s has %d bytes, want at most 20,000, and 19,700 unless it is the last", f.Path, n)
			}
		}
	}
	// One frame is more than the size: it has a file of its own.
	if sum := split(t, in, "one", "--by", "size=1", "--max-files", "4000"); len(sum.Files) != 3049 {
		t.Errorf("%d files, want one a frame", len(sum.Files))
	}
}

// Interfaces keep their numbers and link types apart.
func TestPcapSplitInterface(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := pcaps.CreateAs("in.pcapng", pcaps.Format{Container: pcaps.Pcapng})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for i := range 10 {
		r := pcaps.Record{Data: make([]byte, 20), Len: 20, Time: int64(i) + 1, LinkType: pcaps.Ethernet, Interface: i % 3}
		if i%3 == 2 {
			r.LinkType = pcaps.Raw
		}
		if err := w.WriteRecord(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sum := split(t, "in.pcapng", "if", "--by", "interface", "--compress", "gzip")
	for i, f := range sum.Files {
		if want := "if-" + strconv.Itoa(i) + ".pcap.gz"; f.Path != want || f.Frames != []uint64{4, 3, 3}[i] {
			t.Errorf("%s: %d frames, want %s", f.Path, f.Frames, want)
		}
	}
	if c := content(t, "if-2.pcap.gz"); !strings.Contains(c[0], pcaps.Raw.String()) {
		t.Errorf("the third interface's frames are %s", c[0])
	}
}

// Late frames stay in the file that was begun; gaps leave out numbers.
func TestPcapSplitTime(t *testing.T) {
	t.Chdir(t.TempDir())
	w, err := pcaps.Create("in.pcap")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, ms := range []int64{1000, 1999, 2000, 1500, 500, 5123} {
		if err := w.Write(make([]byte, 60), ms*1e6+7); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sum := split(t, "in.pcap", "t", "--by", "time=1s", "--format", "pcap-us")
	got := map[string]uint64{}
	for _, f := range sum.Files {
		got[f.Path] = f.Frames
	}
	if diff := cmp.Diff(map[string]uint64{"t-00000.pcap": 2, "t-00001.pcap": 3, "t-00004.pcap": 1}, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if sum.Earlier != 2 || sum.Rounded != 6 {
		t.Errorf("%d earlier than their file, %d rounded, want 2 and 6", sum.Earlier, sum.Rounded)
	}
}

func TestPcapSplitRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	ten(t)
	for _, tt := range []struct {
		args, say string
		left      int
	}{
		{"", "need conversation, interface, side", 0},
		{"--by colour", "need conversation, interface, side", 0},
		{"--by side=1", "need side alone", 0},
		{"--by time", "need a time above 0, as time=1s", 0},
		{"--by time=0s", "need a time above 0", 0},
		{"--by time 1s", "as --by time=1s", 0},
		{"--by frames=0", "need a number above 0", 0},
		{"--by size=1x", "need bytes above 0", 0},
		{"--by frames=4 --max-files 0", "need at least one", 0},
		{"--by frames=4 --compress lz4", "--compress", 0},
		{"--by frames=4 --format snoop", "--format", 0},
		{"--by side --client-net ten", "--client-net", 0},
		{"--by frames=4 --max-files 2", "frame 9 would begin file 3, --max-files allows 2 (those are kept)", 2},
	} {
		o := run(append([]string{"pcap", "split", "ten.pcapng", "no"}, strings.Fields(tt.args)...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, tt.say) || o.stdout != "" {
			t.Errorf("%s: %+v, want code 2 and %q", tt.args, o, tt.say)
		}
		if left, _ := filepath.Glob("no*"); len(left) != tt.left {
			t.Errorf("%s: left behind: %v", tt.args, left)
		}
	}
}

// Too many conversations leave nothing behind.
func TestPcapSplitTooMany(t *testing.T) {
	in := shared(t, "dupack-runs.pcap")
	t.Chdir(t.TempDir())
	o := run("pcap", "split", in, "no", "--by", "conversation", "--max-files", "2")
	if o.code != exitUsage || !strings.Contains(o.stderr, "--max-files allows 2 (none is kept)") {
		t.Errorf("%+v", o)
	}
	if left, _ := filepath.Glob("*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
}
