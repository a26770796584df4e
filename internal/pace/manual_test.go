package pace

import "testing"

func TestManual(t *testing.T) {
	var m Manual
	p := NewPacer(&m, 1000, 0)
	step := func(now int64, i uint64, want int) {
		t.Helper()
		if n, _ := p.Next(now, i, 64); n != want {
			t.Errorf("at %d from frame %d on %d may go, want %d", now, i, n, want)
		}
	}
	step(2000, 0, 0)
	m.Release(1)
	step(3000, 0, 1)
	step(4000, 1, 0)
	if before := m.Release(3); before != 1 {
		t.Errorf("%d were released before, want 1", before)
	}
	step(1e12, 1, 3) // however late
	step(1e12, 4, 0)
	if p.Slipped() != 0 {
		t.Errorf("slipped by %d ns", p.Slipped())
	}
}
