package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"squall/scenarios"
)

// onDisk asks the file system whether all of a file has a place on the disk. Until a
// file is flushed, ext4, XFS and btrfs delay that: the power may go, and the file is
// empty.
func onDisk(t *testing.T, path string) bool {
	t.Helper()
	const (
		fiemap   = 0xc020660b // FS_IOC_FIEMAP, linux/fiemap.h
		delayed  = 0x4        // FIEMAP_EXTENT_DELALLOC
		inLine   = 0x200      // FIEMAP_EXTENT_DATA_INLINE: in the inode
		lastFlag = 0x1
	)
	type extent struct {
		logical, physical, length uint64
		_                         [2]uint64
		flags                     uint32
		_                         [3]uint32
	}
	var m struct {
		start, length                  uint64
		flags, mapped, count, reserved uint32
		extents                        [16]extent
	}
	m.length, m.count = 1<<63, uint32(len(m.extents))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), fiemap, uintptr(unsafe.Pointer(&m))); errno != 0 {
		t.Skipf("the file system of %s does not tell what is on the disk (FIEMAP: %v)", path, errno)
	}
	var told uint64
	for _, e := range m.extents[:m.mapped] {
		if e.flags&inLine != 0 {
			t.Skipf("the file system of %s keeps small files elsewhere", path)
		}
		if e.flags&delayed != 0 {
			return false
		}
		told += e.length
	}
	return m.mapped > 0 && m.extents[m.mapped-1].flags&lastFlag != 0 && told > 0
}

// A line comes to the disk while the run goes on, not when its file is closed: the
// kernel alone would leave it in memory for 30 s (vm.dirty_expire_centisecs).
func TestFlushed(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte(strings.Repeat("x", 300)), 0o644); err != nil {
		t.Fatal(err)
	}
	if onDisk(t, plain) {
		t.Skip("the file system does not delay the placing of files: whether one was flushed is not seen")
	}
	d := create(t, filepath.Join(t.TempDir(), "run"))
	defer d.Close()
	d.Scenario([]byte("# squall gen\n"))
	d.Event(scenarios.Event{Time: began, Event: scenarios.EventPhase, Phase: "storm"})
	d.Sample(scenarios.Sample{Time: began, Phase: "storm"})
	for _, name := range []string{"scenario.yaml", "events.ndjson", "samples.ndjson"} {
		path := filepath.Join(d.Path, name)
		for end := time.Now().Add(20 * time.Second); !onDisk(t, path); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s is not on the disk", name)
			}
		}
	}
}

// Events by the hundred do not wait for the disk, one by one, and none is lost.
func TestManyLines(t *testing.T) {
	d := create(t, filepath.Join(t.TempDir(), "run"))
	const n = 5000
	for i := range n {
		d.Event(scenarios.Event{Time: began, Event: scenarios.EventLoss, Frames: uint64(i)})
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(read(t, d, "events.ndjson"), "\n"); got != n {
		t.Errorf("%d lines, want %d", got, n)
	}
	if err := d.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}
