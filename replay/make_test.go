package replay_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"squall/pcaps"
)

// records are a capture that was never on a disk.
type records []pcaps.Record

func (r *records) Next() (pcaps.Record, error) {
	if len(*r) == 0 {
		return pcaps.Record{}, io.EOF
	}
	first := (*r)[0]
	*r = (*r)[1:]
	return first, nil
}

// frame returns n bytes of Ethernet of the type et.
func frame(n int, et uint16, seed byte) []byte {
	f := bytes.Repeat([]byte{seed}, n)
	if n >= 14 {
		f[12], f[13] = byte(et>>8), byte(et)
	}
	return f
}

// whole is the record of a frame that is all there.
func whole(at int64, data []byte) pcaps.Record {
	return pcaps.Record{Data: data, Len: len(data), Time: at, LinkType: pcaps.Ethernet}
}

// capture writes a capture file of frames of 60 bytes at the times.
func capture(t testing.TB, times ...int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.pcap")
	w, err := pcaps.Create(path)
	must(t, err)
	defer w.Abort()
	for i, at := range times {
		must(t, w.Write(frame(60, 0x0800, byte(i)), at))
	}
	must(t, w.Close())
	return path
}

// shared returns the path of a capture from the collection that SQUALL_CAPTURES
// names, by default ../shared/captures beside the module.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("SQUALL_CAPTURES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "captures")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no capture %s in %s; set SQUALL_CAPTURES to the directory that has it", name, dir)
	}
	return path
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
