package plan_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"squall/internal/plan"
)

// mapped is the plan of n frames of size bytes in a file, and the file.
func mapped(t *testing.T, n, size int) (*plan.Plan, *os.File) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "frames"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var ends []uint64
	for i := range n {
		if _, err := f.Write(bytes.Repeat([]byte{byte(i)}, size)); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, uint64((i+1)*size))
	}
	data, err := unix.Mmap(int(f.Fd()), 0, n*size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	table := plan.MappedTable(data, ends, func() { _ = unix.Munmap(data) })
	p, err := plan.New(plan.Plan{Streams: []*plan.Stream{{Name: "file", Heads: table, Tag: plan.TagNone}}, Pass: uint64(n)})
	if err != nil {
		t.Fatal(err)
	}
	return p, f
}

// What cannot be read is an error, not the end of the process.
func TestGuard(t *testing.T) {
	const n, size = 64, 1000
	p, f := mapped(t, n, size)
	if !p.Spooled() || p.MaxLen() != size {
		t.Fatalf("spooled %v, longest %d, want true, %d", p.Spooled(), p.MaxLen(), size)
	}
	frame := make([]byte, p.MaxLen())
	all := func() error {
		for i := range uint64(n) {
			if got := frame[:p.Write(frame, i, 0)]; len(got) != size || got[0] != byte(i) || got[size-1] != byte(i) {
				t.Errorf("frame %d is % x...", i, got[:4])
			}
		}
		return nil
	}
	if err := p.Guard(all); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if err := p.Guard(all); err == nil {
		t.Error("frames of a file that is gone were read")
	}
	// Another panic stays one.
	defer func() {
		if recover() != "other" {
			t.Error("a panic was taken for a fault")
		}
	}()
	_ = p.Guard(func() error { panic("other") })
}
