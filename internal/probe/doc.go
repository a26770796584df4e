// Package probe reads counters: those of a port, of a network namespace, of this
// machine and of others. It never sees what squall believes it sent, so that the
// two can be held against each other.
//
// A reading is taken before and after a phase, and [Delta] tells what moved:
//
//	before ── phase ── after          Delta(before, after)
//	rx_packets    100      1100       Moved 1000
//	rx_errors       0         0       Moved 0
//	softnet drops 4294967290   4      Moved 10, wrapped (32 bits)
//	carrier         1         1       level: After is what counts
//	cpu.softirq  5000      5300       Moved 300 ticks, Share 30 (percent of all of its CPU's)
//
// Rates and percentages are made there, between two readings, never by a probe:
// a probe's reading is what the kernel or the DUT said.
//
// # Probes
//
// One file a kind of probe. Those of this machine are small values without
// state: they may be read from any goroutine, beside other reads, and hold
// nothing open between reads. Those that keep something running (a session of
// ssh, perf, a connection) are made by New and are to be closed.
//
//	Link Ethtool Qdisc             a port            Command   what a line of shell prints, here
//	IP                             a namespace                 or anywhere over ssh, in a Format
//	CPU Softirqs Interrupts        a machine         Page      what a URL has, in a Format
//	Softnet Memory Frequency                         Perf      the processor's counters
//	Remote: all but Perf of these, on another machine
//
// A read takes well under a millisecond as a rule, but it waits for a lock of the
// kernel (rtnl) which a driver may hold for seconds while it resets its card, or
// for a host that has gone: read on a goroutine of its own, never on one that
// sends. A [Poller] does that for any number of probes. When a read fails the
// error names the port, file or host, and a [Set] or [Remote] still holds the
// counters of its other members.
//
// Not every counter is a loss, and one loss is often seen by several counters.
// Which to sum is the ledger's business; the comments here say what a counter
// counts and of which others it is a view.
package probe
