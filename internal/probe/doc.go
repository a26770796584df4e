// Package probe reads counters: those of a port, of a network namespace and of
// this machine. It never sees what squall believes it sent, so that the two
// can be held against each other.
//
// A reading is taken before and after a phase, and [Delta] tells what moved:
//
//	before ── phase ── after          Delta(before, after)
//	rx_packets    100      1100       Moved 1000
//	rx_errors       0         0       Moved 0
//	softnet drops 4294967290   4      Moved 10, wrapped (32 bits)
//	carrier         1         1       level: After is what counts
//
// One file a kind of probe. All of them are small values without state: a
// probe may be read from any goroutine, beside other reads, and holds nothing
// open between reads. A read takes well under a millisecond as a rule, but it
// waits for a lock of the kernel (rtnl) which a driver may hold for seconds
// while it resets its card: read on a goroutine of its own, never on one that
// sends. When a read fails the error names the port or file, and a [Set] still holds
// the counters of its other members.
//
// Not every counter is a loss, and one loss is often seen by several counters.
// Which to sum is the ledger's business; the comments here say what a counter
// counts and of which others it is a view.
package probe
