package live

import (
	"bytes"
	"testing"

	"github.com/cilium/ebpf"

	"squall/internal/pace"
	"squall/internal/plan"
)

// PinThread pins the calling goroutine's thread to a core.
func PinThread(t testing.TB, cpu int) (restore func()) {
	t.Helper()
	restore, err := ownThread(cpu)
	if err != nil {
		t.Fatal(err)
	}
	return restore
}

// Maker has the program make frames without a port: each in a page full of dirt,
// which is given back instead of being sent.
type Maker struct {
	g    *program
	page []byte
	out  []byte
}

func NewMaker(t testing.TB, p *plan.Plan) *Maker {
	t.Helper()
	g, err := newProgram(p, 1000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.close() })
	return &Maker{g: g, page: bytes.Repeat([]byte{0xa5}, g.tables.base), out: make([]byte, MaxLen)}
}

// Seek sets it to a frame.
func (m *Maker) Seek(t testing.TB, first uint64) {
	t.Helper()
	m.g.seek(first)
	st := m.g.state
	st.Count, st.End, st.Last = 1<<62, 1<<62, 1<<62
	if err := m.g.hand(0, pace.Max{}, pace.Now(), 1); err != nil {
		t.Fatal(err)
	}
}

// Next returns the next frame. It is valid until the call after.
func (m *Maker) Next(t testing.TB) []byte {
	t.Helper()
	o := ebpf.RunOptions{Data: m.page, DataOut: m.out}
	if _, err := m.g.objects.Live.Run(&o); err != nil {
		t.Fatal(err)
	}
	if n := m.g.state.Fault; n != 0 {
		t.Fatalf("the program gave up at line %d", n)
	}
	return o.DataOut
}

// Program returns which program it is.
func (m *Maker) Program() string { return m.g.tables.program() }

// Fixed reports whether all frames are as long as a fresh page.
func (m *Maker) Fixed() bool {
	s := &m.g.tables.streams[0]
	return s.Sizes == 1 && int(s.Len) == m.g.tables.base
}

// Time returns the ns that a run of the program takes, with its page in the cache
// and nothing redirected.
func (m *Maker) Time(t testing.TB, n int) float64 {
	t.Helper()
	best := 1e9
	for range 20 {
		_, d, err := m.g.objects.Live.Benchmark(m.page, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, float64(d.Nanoseconds()))
	}
	if n := m.g.state.Fault; n != 0 {
		t.Fatalf("the program gave up at line %d", n)
	}
	return best
}

// Summary makes percentiles of the program's buckets.
var Summary = summary

// Dues has the program send n frames of a schedule that began at start, all of
// them late, and returns when it took each to be due.
func (m *Maker) Dues(t testing.TB, s pace.Schedule, start int64, n int) []int64 {
	t.Helper()
	m.Seek(t, 0)
	if err := m.g.hand(0, s, start, 1<<60); err != nil {
		t.Fatal(err)
	}
	var due []int64
	for range n {
		m.Next(t)
		due = append(due, int64(m.g.state.Due))
	}
	if got := m.g.state.Frames; got != uint64(n) {
		t.Fatalf("%d frames went, want %d", got, n)
	}
	return due
}
