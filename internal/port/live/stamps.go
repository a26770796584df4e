package live

import (
	"runtime"
	"sync/atomic"

	"squall/internal/port"
)

// stamp has the program's stamps read through to. They stay mapped for as long as
// somebody may read them, beyond the program.
func (g *program) stamp(to *port.Stamps) error {
	n := g.tables.stamped()
	if n == 0 {
		return nil
	}
	mem, err := mapMemory(g.objects.Stamps)
	if err != nil {
		return err
	}
	at := entries[atomic.Int64](mem)
	r := &port.StampRing{At: at[:n], N: &entries[atomic.Uint64](mem)[n]}
	r.N.Store(0)
	runtime.AddCleanup(r, func(m memory) { _ = m.unmap() }, mem)
	to.Over(r)
	return nil
}
