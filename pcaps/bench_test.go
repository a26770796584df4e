package pcaps_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"squall/pcaps"
)

// manyFrames writes a capture of about size bytes with frames of n bytes.
func manyFrames(t testing.TB, path string, f pcaps.Format, n, size int) (frames int) {
	t.Helper()
	w, err := pcaps.CreateAs(path, f)
	must(t, err)
	defer w.Abort()
	data := frame(n, 1)
	for frames = 0; frames*(n+16) < size; frames++ {
		must(t, w.Write(data, int64(frames)*1000))
	}
	must(t, w.Close())
	return frames
}

// BenchmarkNext reads a capture of 64 MiB from the page cache. ns/op is for the
// whole file.
func BenchmarkNext(b *testing.B) {
	for _, c := range []pcaps.Container{pcaps.Pcap, pcaps.Pcapng} {
		for _, size := range []int{60, 300, 1514} {
			b.Run(fmt.Sprintf("%v/%d", c, size), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "capture")
				frames := manyFrames(b, path, pcaps.Format{Container: c}, size, 64<<20)
				b.ReportAllocs()
				for b.Loop() {
					r, err := pcaps.Open(path)
					must(b, err)
					b.SetBytes(r.Size())
					got := 0
					for ; err == nil; got++ {
						_, err = r.Next()
					}
					if !errors.Is(err, io.EOF) || got-1 != frames {
						b.Fatalf("%d records, %v; want %d", got-1, err, frames)
					}
					r.Close()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(frames), "ns/frame")
			})
		}
	}
}

// Next allocates nothing, in whatever format, once the window is there.
func TestNextDoesNotAllocate(t *testing.T) {
	simple := little().section(1, 0).iface(1)
	for range 2000 {
		simple.block(3, append([]byte{60, 0, 0, 0}, frame(60, 1)...))
	}
	dir := t.TempDir()
	pcap, ng := filepath.Join(dir, "pcap"), filepath.Join(dir, "ng")
	manyFrames(t, pcap, pcaps.Format{}, 1514, 4<<20)
	manyFrames(t, ng, pcaps.Format{Container: pcaps.Pcapng}, 1514, 4<<20)
	for name, open := range map[string]func() (*pcaps.Reader, error){
		"pcap":         func() (*pcaps.Reader, error) { return pcaps.Open(pcap) },
		"pcapng":       func() (*pcaps.Reader, error) { return pcaps.Open(ng) },
		"simple block": func() (*pcaps.Reader, error) { return pcaps.NewReader(bytes.NewReader(simple.b), "made") },
	} {
		r, err := open()
		must(t, err)
		for range 600 { // beyond the first window
			_, err = r.Next()
			must(t, err)
		}
		if n := testing.AllocsPerRun(1000, func() {
			if _, err = r.Next(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a record", name, n)
		}
		r.Close()
	}
}
