package pcaps_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"squall/pcaps"
)

// names lists a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.pcap")
	w, err := pcaps.Create(path)
	must(t, err)
	defer w.Abort()
	if _, err := os.Stat(path); err == nil {
		t.Error("the file has its name before it is whole")
	}
	var want []pcaps.Record
	for i, n := range []int{14, 60, 1514, 9014, 262_144} {
		at := int64(i) * 999_999_999
		data := frame(n, byte(i))
		must(t, w.Write(data, at))
		want = append(want, pcaps.Record{Data: data, Len: n, Time: at, LinkType: pcaps.Ethernet})
	}
	last := int64(1<<32-1)*1e9 + 999_999_999
	must(t, w.Write(frame(60, 7), last))
	want = append(want, pcaps.Record{Data: frame(60, 7), Len: 60, Time: last, LinkType: pcaps.Ethernet})
	must(t, w.Close())

	r, err := pcaps.Open(path)
	must(t, err)
	defer r.Close()
	got, err := all(r)
	must(t, err)
	if diff := cmp.Diff(want, got, cmp.Comparer(bytes.Equal)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"out.pcap"}, names(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// Whatever goes wrong, the file that was there stays as it was, and nothing else
// is left.
func TestNothingHalfDone(t *testing.T) {
	tests := []struct {
		name string
		do   func(w *pcaps.Writer) error
		says string
	}{
		{"aborted", func(w *pcaps.Writer) error { w.Abort(); return w.Close() }, "dropped"},
		{"frame too short", func(w *pcaps.Writer) error { return w.Write(make([]byte, 13), 0) }, "13 bytes"},
		{"frame too long", func(w *pcaps.Writer) error { return w.Write(make([]byte, 262_145), 0) }, "262145 bytes"},
		{"before 1970", func(w *pcaps.Writer) error { return w.Write(frame(60, 1), -1) }, "1970"},
		{"after 2106", func(w *pcaps.Writer) error { return w.Write(frame(60, 1), 1<<32*1e9) }, "2106"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "out.pcap")
			must(t, os.WriteFile(path, []byte("old"), 0o666))
			w, err := pcaps.Create(path)
			must(t, err)
			must(t, w.Write(frame(60, 1), 0))
			err = tt.do(w)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want %q and the file's name", err, tt.says)
			}
			if again := w.Write(frame(60, 1), 0); again == nil {
				t.Error("a frame is taken after the error")
			}
			if again := w.Close(); again == nil {
				t.Error("Close keeps the file after the error")
			}
			if old, _ := os.ReadFile(path); string(old) != "old" {
				t.Errorf("the file that was there holds %q", old)
			}
			if diff := cmp.Diff([]string{"out.pcap"}, names(t, dir)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// A full disk is found at the latest by Close.
func TestDiskFull(t *testing.T) {
	w, err := pcaps.Create("/dev/full")
	must(t, err)
	for range 1000 {
		if err = w.Write(frame(1514, 1), 0); err != nil {
			break
		}
	}
	if closed := w.Close(); closed == nil || !strings.Contains(closed.Error(), "no space") || !strings.Contains(closed.Error(), "/dev/full") {
		t.Errorf("Close = %v after Write = %v, want no space on /dev/full", closed, err)
	}
	if info, err := os.Stat("/dev/full"); err != nil || info.Mode().IsRegular() {
		t.Fatalf("/dev/full is no device any more: %v", err)
	}
}

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "no", "out.pcap")} {
		if w, err := pcaps.Create(path); err == nil {
			w.Abort()
			t.Errorf("%q was created", path)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("error %q does not name %q", err, path)
		}
	}
	if left := names(t, dir); left != nil {
		t.Errorf("left behind: %q", left)
	}
}

// A link stays a link: what it points to is replaced.
func TestCreateThroughLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	must(t, os.WriteFile(target, []byte("old"), 0o666))
	must(t, os.Symlink(target, link))
	w, err := pcaps.Create(link)
	must(t, err)
	must(t, w.Write(frame(60, 1), 0))
	must(t, w.Close())
	if to, err := os.Readlink(link); err != nil || to != target {
		t.Errorf("the link points to %q, %v", to, err)
	}
	r, err := pcaps.Open(target)
	must(t, err)
	defer r.Close()
	if got, err := all(r); len(got) != 1 || err != nil {
		t.Errorf("%d records, %v; want 1", len(got), err)
	}
}
