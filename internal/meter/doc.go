// Package meter counts what arrived: loss, duplicates, reordering, latency, and
// when each happened. It holds no clock and no socket: a receiver hands it
// frames with their arrival times, or arrivals that it has already recognised.
//
//	              Receiver                          Stream (one a stream)
//	          ┌────────────────┐  Arrival    ┌───────────────────────────────┐
//	frame ───►│ tag?           │────────────►│ window ─► loss      RFC 3357  │
//	          │ IPv4 id?       │             │        ─► reordering RFC 4737 │
//	          │ known content? │             │        ─► dup ACKs  RFC 4737  │─► Report
//	          └──┬─────────┬───┘             │        ─► density   RFC 5236  │
//	             ▼         ▼                 │        ─► latency   RFC 7679  │
//	          foreign    stray               │        ─► variation RFC 3393  │
//	                                         └───────────────────────────────┘
//
// # The window
//
// A stream remembers its newest Config.Window sequence numbers one by one.
// Inside it every arrival is known to be the first of its number or a
// duplicate, and a gap is provisional: a frame that comes late fills it. What
// leaves the window is settled and never changes again:
//
//	   settled              │              window               │ not seen
//	───────────────────────┬┴──────────────────────────────────┬┴─────────
//	 received, lost        base          gaps: missing         next
//	                        └────────── Config.Window ──────────┘
//
// An arrival older than the window is Late: nothing remembers whether it is a
// duplicate or the first of its number, so it enters no other figure. Its number
// was settled without it. Hence, after Finish,
//
//	Received + Lost == Sent             always (while Beyond is 0), and
//	Lost - Late <= never arrived <= Lost
//
// so with Late at 0 Lost is exact, and otherwise it is at most Late too high. A
// Wild arrival (Config.Limit) counts as if it had not come.
//
// What a fast counter outside this package (an XDP program) counted by the same
// rules comes in as Counts, and a Sum makes the same Report of it.
//
// # Rules
//
// Only the first arrival of a sequence number counts, for every metric but
// Duplicated. Sequence numbers start at 0. Times are CLOCK_MONOTONIC ns.
//
// One goroutine owns a Receiver and its Streams (Frame, Add, Finish, Report,
// Total); Live may be called from any other. Neither Add nor Frame allocates.
// Memory does not grow with the length of a run: a Stream takes 32 bytes for
// each number of its window, 40 for each loss period it keeps, and about
// 1.1 MiB for its histograms.
package meter
