package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"squall/scenarios"
)

func create(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func read(t *testing.T, d *Dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.Path, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestDir(t *testing.T) {
	d := create(t, filepath.Join(t.TempDir(), "runs", "one"))
	d.Scenario([]byte("what: ever\n"))
	d.Event(scenarios.Event{Time: began, Event: scenarios.EventPhase, Phase: "storm"})
	for i := range 3 {
		d.Sample(scenarios.Sample{Time: began, Phase: "storm", Sent: uint64(i)})
		// Each line is there as soon as it was told.
		lines := strings.SplitAfter(read(t, d, "samples.ndjson"), "\n")
		if len(lines) != i+2 || lines[i+1] != "" {
			t.Fatalf("lines %q, want %d", lines, i+1)
		}
		var s scenarios.Sample
		if err := json.Unmarshal([]byte(lines[i]), &s); err != nil || s.Sent != uint64(i) {
			t.Errorf("line %q: %+v, %v", lines[i], s, err)
		}
	}
	want := []string{"events.ndjson", "samples.ndjson", "scenario.yaml"}
	if diff := cmp.Diff(want, list(t, d.Path)); diff != "" {
		t.Errorf("files while it runs (-want +got):\n%s", diff)
	}
	d.Result(whole())
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	want = []string{"events.ndjson", "run.json", "samples.ndjson", "scenario.yaml"}
	if diff := cmp.Diff(want, list(t, d.Path)); diff != "" {
		t.Errorf("files at the end (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(d.Path, "run.json")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("run.json: %v, %v, want mode 0644", info.Mode(), err)
	}
	var b bytes.Buffer
	if err := JSON(&b, whole()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), read(t, d, "run.json")); diff != "" {
		t.Errorf("run.json (-want +got):\n%s", diff)
	}
	if got := read(t, d, "scenario.yaml"); got != "what: ever\n" {
		t.Errorf("scenario.yaml is %q", got)
	}
}

func TestCreateRefuses(t *testing.T) {
	full := t.TempDir()
	file := filepath.Join(full, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"not empty": full, "a file": file, "below a file": filepath.Join(file, "x")} {
		t.Run(name, func(t *testing.T) {
			_, err := Create(path)
			named := strings.TrimSuffix(path, "/x")
			if err == nil || !strings.Contains(err.Error(), named) {
				t.Errorf("error %v, want one that names %s", err, named)
			}
			if diff := cmp.Diff([]string{"file"}, list(t, full)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiscard(t *testing.T) {
	empty := t.TempDir()
	for name, path := range map[string]string{"new": filepath.Join(empty, "new"), "was there": empty} {
		t.Run(name, func(t *testing.T) {
			d := create(t, path)
			d.Scenario([]byte("x"))
			d.Sample(scenarios.Sample{})
			if err := d.Discard(); err != nil {
				t.Error(err)
			}
			if left := list(t, empty); len(left) != 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

func TestDefaultPath(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, want := range []string{"runs/20260102-150405-a-b.c", "runs/20260102-150405-a-b.c-2", "runs/20260102-150405-a-b.c-3"} {
		got := DefaultPath("a /b.c", began)
		if got != want {
			t.Errorf("path %q, want %q", got, want)
		}
		create(t, got).Close()
	}
}

// tiny mounts a file system of so many pages on a directory, for this thread
// only: it ends with the test's goroutine.
func tiny(t *testing.T, dir string, pages int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: CAP_SYS_ADMIN, to mount a small file system")
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		t.Fatal(err)
	}
	size := pages * os.Getpagesize()
	if err := unix.Mount("tiny", dir, "tmpfs", 0, "size="+strconv.Itoa(size)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

func TestDiskFull(t *testing.T) {
	for _, pages := range []int{1, 2, 3} {
		t.Run(strconv.Itoa(pages)+" pages", func(t *testing.T) {
			dir := t.TempDir()
			tiny(t, dir, pages)
			d := create(t, dir)
			d.Scenario([]byte("what: ever\n"))
			for i := range 200 {
				d.Sample(scenarios.Sample{Time: began.Add(time.Duration(i) * time.Second), Phase: "storm"})
			}
			d.Event(scenarios.Event{Time: began, Event: scenarios.EventStop})
			d.Result(whole())
			err := d.Close()
			if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v, want no space in %s", err, dir)
			}
			if !errors.Is(d.Err(), unix.ENOSPC) {
				t.Errorf("Err is %v after Close", d.Err())
			}
			for _, name := range list(t, dir) {
				if strings.HasPrefix(name, "run.json") {
					t.Errorf("half a result is left: %s", name)
				}
			}
			// What is there is whole.
			for line := range strings.Lines(read(t, d, "samples.ndjson")) {
				if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "\n") {
					t.Errorf("half a line: %q", line)
				}
			}
			if got := read(t, d, "scenario.yaml"); got != "what: ever\n" {
				t.Errorf("scenario.yaml is %q", got)
			}
		})
	}
}
