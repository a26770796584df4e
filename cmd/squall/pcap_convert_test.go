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

	"squall/pcaps"
)

// convert runs squall pcap convert by itself.
func convert(args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	c := newPcapConvert()
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&errs)
	err = c.Execute()
	return out.String(), errs.String(), err
}

// rawCapture is a file with two RAW frames, an IPv4 and an IPv6 one, and a third
// that is neither.
func rawCapture(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raw.pcap")
	w, err := pcaps.CreateAs(path, pcaps.Format{LinkType: pcaps.Raw})
	if err != nil {
		t.Fatal(err)
	}
	for i, first := range []byte{0x45, 0x60, 0x10} {
		if err := w.Write(append([]byte{first}, make([]byte, 39)...), int64(i)*1e9+1); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPcapConvert(t *testing.T) {
	in := rawCapture(t)
	out := filepath.Join(t.TempDir(), "out.pcap.zst")
	stdout, stderr, err := convert(in, out, "--ethernet", "--dmac", "02:00:00:00:00:09", "--format", "pcap-us", "--snaplen", "50")
	if err != nil || stderr != "" {
		t.Fatalf("%v\n%s", err, stderr)
	}
	want := in + ": 3 frames\n" + out + ": 2 frames (pcap-us, zstd)\n" +
		"  2 got an Ethernet header\n  2 cut to 50 bytes\n  2 lost their nanoseconds: the format has microseconds\n" +
		"  1 left out: RAW (IP without a link layer), link type 101, IP version 0x1, cannot be sent on Ethernet\n"
	if diff := cmp.Diff(want, stdout); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	r, err := pcaps.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rec, err := r.Next()
	if head := []byte{2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 8, 0, 0x45}; err != nil || rec.LinkType != pcaps.Ethernet || rec.Len != 54 || len(rec.Data) != 50 || !bytes.HasPrefix(rec.Data, head) {
		t.Errorf("first frame: %+v, %v", rec, err)
	}
}

func TestPcapConvertJSON(t *testing.T) {
	in := rawCapture(t)
	whole, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, whole[:len(whole)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.pcapng")
	stdout, stderr, err := convert(in, out, "--json")
	if err != nil || !strings.Contains(stderr, "record 3 at byte 136: the file ends within this record") {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	early, _ := got["ended_early"].(string)
	delete(got, "ended_early")
	want := map[string]any{"in": in, "out": out, "format": "pcapng", "compression": "none", "read": 2.0, "written": 2.0,
		"reframed": 0.0, "cut": 0.0, "excess": 0.0, "clamped": 0.0, "rounded": 0.0, "left_out": []any{}}
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(early, "record 3") {
		t.Errorf("JSON, ended early %q (-want +got):\n%s", early, diff)
	}
}

// Whatever is refused, OUT stays as it was.
func TestPcapConvertRefuses(t *testing.T) {
	in := rawCapture(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.pcap")
	if err := os.WriteFile(out, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.pcap")
	whole, _ := os.ReadFile(in)
	if err := os.WriteFile(cut, whole[:50], 0o644); err != nil {
		t.Fatal(err)
	}
	wifi := filepath.Join(t.TempDir(), "wifi.pcap")
	if err := os.WriteFile(wifi, append(append(whole[:20:20], 105, 0, 0, 0), whole[24:]...), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		says string
	}{
		{"one argument", []string{in}, "have 1 arguments, need two"},
		{"no such file", []string{filepath.Join(dir, "no.pcap"), out}, "no.pcap"},
		{"name without a format", []string{in, filepath.Join(dir, "out")}, "give --format"},
		{"unknown format", []string{in, out, "--format", "snoop"}, `--format: format "snoop"`},
		{"unknown compression", []string{in, out, "--compress", "xz"}, `--compress: compression "xz"`},
		{"unknown policy", []string{in, out, "--time-errors", "fix"}, `--time-errors: time errors "fix"`},
		{"address without --ethernet", []string{in, out, "--smac", "02:00:00:00:00:01"}, "give --ethernet"},
		{"address that is none", []string{in, out, "--ethernet", "--dmac", "gateway"}, `--dmac "gateway"`},
		{"address of 8 bytes", []string{in, out, "--ethernet", "--dmac", "02:00:00:00:00:01:02:03"}, "6 bytes"},
		{"snap length 0", []string{in, out, "--snaplen", "0"}, "--snaplen 0"},
		{"snap length too long", []string{in, out, "--snaplen", "262145"}, "need 1 to 262144"},
		{"cut in its first record", []string{cut, out}, "ends within this record"},
		{"nothing for Ethernet", []string{wifi, out, "--ethernet"}, "no frame can be written: 3: IEEE 802.11, link type 105 cannot be sent on Ethernet"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdout, _, err := convert(tt.args...)
			if err == nil || !strings.Contains(err.Error(), tt.says) || stdout != "" {
				t.Errorf("%v, %q; want an error that says %q", err, stdout, tt.says)
			}
			if b, _ := os.ReadFile(out); string(b) != "old" {
				t.Errorf("out.pcap holds %q", b)
			}
		})
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// What is converted to every format reads in capinfos as the original does.
func TestPcapConvertWitness(t *testing.T) {
	dir := "../../../shared/captures"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Skipf("no real captures: %v", err)
	}
	if _, err := exec.LookPath("capinfos"); err != nil {
		t.Skip("capinfos is not installed")
	}
	// data size, frames, and the first and last time
	capinfos := func(path string) string {
		out, err := exec.Command("capinfos", "-c", "-d", "-a", "-e", "-S", "-M", "-r", "-T", path).Output()
		if err != nil {
			t.Fatalf("capinfos %s: %v", path, err)
		}
		_, figures, _ := strings.Cut(string(out), "\t")
		return figures
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), ".pcap") || strings.Contains(e.Name(), "frame-relay") || strings.Contains(e.Name(), "invalid") {
			continue // Wireshark knows no frame relay of this kind, and no time that is none
		}
		for _, name := range []string{"out.pcap", "out.pcapng", "out.pcap.gz", "out.pcapng.zst"} {
			in, out := filepath.Join(dir, e.Name()), filepath.Join(t.TempDir(), name)
			if _, stderr, err := convert(in, out); err != nil || stderr != "" {
				t.Errorf("%s to %s: %v, %s", e.Name(), name, err, stderr)
				continue
			}
			// Captures with microseconds become ones with nanoseconds.
			want, got := strings.ReplaceAll(capinfos(in), "000\t", "\t"), strings.ReplaceAll(capinfos(out), "000\t", "\t")
			if want, got := figures(want), figures(got); !cmp.Equal(want, got) {
				t.Errorf("%s to %s (-want +got):\n%s", e.Name(), name, cmp.Diff(want, got))
			}
		}
	}
}

// figures splits a line of capinfos, and takes off what resolution adds.
func figures(line string) []string {
	list := strings.Fields(line)
	for i, f := range list {
		if strings.Contains(f, ".") {
			list[i] = strings.TrimRight(f, "0")
		}
	}
	return list
}
