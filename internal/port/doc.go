// Package port is what squall knows of network interfaces, and the interfaces
// that engines fulfil to put frames on a port and to take them off.
//
//	           ┌──────────── Sender: executes a plan ────────────┐
//	plan ──────┤                                                 ├──► wire
//	schedule   │  walk.Walk ──► BatchWriter (packet, xdp)        │
//	           │  a BPF program with the plan's tables (live)    │
//	           └─────────────────────────────────────────────────┘
//	wire ──► BatchReader (packet, xdp) ──► meter
//
// Whatever is open-loop is a plan, and a Sender runs it whole. What must react
// to arrivals uses the batch interfaces, which the plan walker itself uses.
//
// Lifetime: engines are opened on a Port and closed by whoever opened them;
// Close puts back what opening changed. A Sender, BatchWriter or BatchReader
// belongs to one goroutine, which should own its thread; Progress and Stats may
// be read from any.
package port
