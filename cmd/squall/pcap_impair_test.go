package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/pcaps"
)

// impairRun runs squall pcap impair by itself.
func impairRun(args ...string) (string, error) {
	var out bytes.Buffer
	c := newPcapImpair()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&out)
	err := c.Execute()
	return out.String(), err
}

// numbered is a capture of n UDP frames, 1 us apart, frame k with k in its payload.
func numbered(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.pcap")
	w, err := pcaps.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for k := range n {
		f := make([]byte, 60)
		f[12], f[14], f[17], f[22], f[23], f[39] = 8, 0x45, 46, 64, 17, 26
		f[58], f[59] = byte((k+1)>>8), byte(k+1)
		var sum uint32
		for i := 14; i < 34; i += 2 {
			sum += uint32(f[i])<<8 | uint32(f[i+1])
		}
		sum = sum>>16 + sum&0xffff
		f[24], f[25] = byte(^sum>>8), byte(^sum)
		if err := w.Write(f, int64(k+1)*1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// drawn draws a capture: the number of each frame and its time in us.
func drawn(t *testing.T, path string) string {
	t.Helper()
	var all []string
	for _, r := range recordsOf(t, path) {
		all = append(all, fmt.Sprintf("%d@%d", int(r.Data[58])<<8|int(r.Data[59]), r.Time/1000))
	}
	return strings.Join(all, " ")
}

func recordsOf(t *testing.T, path string) (all []pcaps.Record) {
	t.Helper()
	r, err := pcaps.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		rec.Data = bytes.Clone(rec.Data)
		all = append(all, rec)
	}
}

func TestPcapImpair(t *testing.T) {
	tests := []struct {
		rules []string
		want  string
		says  string
	}{
		{[]string{"drop 1/4"}, "1@1 2@2 3@3 5@5 6@6 7@7", "  2 dropped\n"},
		{[]string{"duplicate 1/4 x2"}, "1@1 2@2 3@3 4@4 4@4 4@4 5@5 6@6 7@7 8@8 8@8 8@8", "  4 copies added\n"},
		{[]string{"swap 1/4"}, "1@1 2@2 4@3 3@4 5@5 6@6 8@7 7@8", "  2 pairs swapped\n  2 reordered by RFC 4737, the extent at most 1\n"},
		{[]string{"hold at 2 by 3"}, "1@1 3@3 4@4 5@5 2@5 6@6 7@7 8@8", "  1 held back\n  1 reordered by RFC 4737, the extent at most 3\n"},
		{[]string{"hold at 2 by 2500ns"}, "1@1 3@3 4@4 2@4 5@5 6@6 7@7 8@8", "  1 held back\n  1 reordered by RFC 4737, the extent at most 2\n"},
		{[]string{"reorder 4/8"}, "1@1 2@2 3@3 4@4 8@5 7@6 6@7 5@8", "  1 bursts reordered\n  3 reordered by RFC 4737, the extent at most 3\n"},
		{[]string{"drop at 1", "swap at 1"}, "3@2 2@3 4@4 5@5 6@6 7@7 8@8", "  1 dropped\n  1 pairs swapped\n  1 reordered by RFC 4737, the extent at most 1\n"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.rules), func(t *testing.T) {
			in, out := numbered(t, 8), filepath.Join(t.TempDir(), "out.pcap")
			args := []string{in, out}
			for _, r := range tt.rules {
				args = append(args, "--impair", r)
			}
			text, err := impairRun(args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, drawn(t, out)); diff != "" {
				t.Errorf("frames (-want +got):\n%s", diff)
			}
			head := fmt.Sprintf("%s: 8 frames\n%s: %d frames\n", in, out, len(strings.Fields(tt.want)))
			if diff := cmp.Diff(head+tt.says, text); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

// Dropping by number is what editcap does.
func TestPcapImpairEditcap(t *testing.T) {
	editcap, err := exec.LookPath("editcap")
	if err != nil {
		t.Skip("needs editcap")
	}
	in, dir := numbered(t, 200), t.TempDir()
	ours, theirs := filepath.Join(dir, "ours.pcap"), filepath.Join(dir, "theirs.pcap")
	if _, err := impairRun(in, ours, "--impair", "drop at 3,50-60,199"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(editcap, "-F", "nsecpcap", in, theirs, "3", "50-60", "199").CombinedOutput(); err != nil {
		t.Fatalf("editcap: %v\n%s", err, out)
	}
	if diff := cmp.Diff(recordsOf(t, theirs), recordsOf(t, ours)); diff != "" {
		t.Errorf("(-editcap +squall):\n%s", diff)
	}
}

// What is corrupted, tshark finds to be, and --events says where.
func TestPcapImpairCorrupt(t *testing.T) {
	in, dir := numbered(t, 200), t.TempDir()
	out, events := filepath.Join(dir, "out.pcapng"), filepath.Join(dir, "events.ndjson")
	if _, err := impairRun(in, out, "--impair", "corrupt 1/20 ip-checksum", "--events", events, "--seed", "3"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	was, is := recordsOf(t, in), recordsOf(t, out)
	wrong := ""
	for to := json.NewDecoder(bytes.NewReader(text)); ; {
		var e impairEvent
		if err := to.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		wrong += fmt.Sprintln(e.Frame)
		if e.Event != "corrupt" || e.Out != e.Frame || e.Byte == nil || e.Time.UnixNano() != int64(e.Frame)*1000 {
			t.Fatalf("event %+v", e)
		}
		is[e.Out-1].Data[*e.Byte] ^= byte(e.Mask)
	}
	for i := range was {
		if !bytes.Equal(was[i].Data, is[i].Data) {
			t.Errorf("frame %d differs otherwise than the events say", i+1)
		}
	}
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("needs tshark")
	}
	found, err := exec.Command(tshark, "-r", out, "-o", "ip.check_checksum:TRUE", "-Y", "ip.checksum.status == Bad", "-T", "fields", "-e", "frame.number").Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(found), wrong); diff != "" || strings.Count(wrong, "\n") != 10 {
		t.Errorf("frames (-tshark +events):\n%s", diff)
	}
}

func TestPcapImpairJSON(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.pcap.gz")
	text, err := impairRun(numbered(t, 100), out, "--json", "--impair", "drop 1/10", "--impair", "duplicate 1/10 x3", "--impair", "corrupt at 7")
	if err != nil {
		t.Fatal(err)
	}
	var got impairSummary
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	got.In, got.Out = "", ""
	if diff := cmp.Diff(impairSummary{Read: 100, Written: 90 + 27, Dropped: 10, Duplicated: 27, Corrupted: 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The same seed makes the same capture, another seed another.
func TestPcapImpairSeed(t *testing.T) {
	in := numbered(t, 1000)
	var got []string
	for _, seed := range []string{"1", "1", "2"} {
		out := filepath.Join(t.TempDir(), "out.pcap")
		if _, err := impairRun(in, out, "--impair", "drop 5%", "--impair", "reorder 8 5% shuffle", "--seed", seed); err != nil {
			t.Fatal(err)
		}
		got = append(got, drawn(t, out))
	}
	if got[0] != got[1] || got[0] == got[2] {
		t.Error("the seed does not say what is drawn")
	}
}

func TestPcapImpairRefuses(t *testing.T) {
	in := numbered(t, 10)
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"no rule", []string{in, "x.pcap"}, "nothing to do"},
		{"a bad rule", []string{in, "x.pcap", "--impair", "drop 1/x"}, "column 6"},
		{"a bad name", []string{in, "x.txt", "--impair", "drop 1/2"}, "does not end in .pcap"},
		{"all dropped", []string{in, "x.pcap", "--impair", "drop at 1-10"}, "no frame is left"},
		{"no such frame", []string{in, "x.pcap", "--impair", "drop at 11"}, "frame 11 does not come to it, only 10 do"},
		{"another link type", []string{rawCapture(t), "x.pcap", "--impair", "corrupt at 1"}, "only Ethernet frames are corrupted"},
		{"one argument", []string{in}, "need two"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if _, err := impairRun(tt.args...); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("have %v, need %q", err, tt.says)
			}
			if left, _ := filepath.Glob("*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
