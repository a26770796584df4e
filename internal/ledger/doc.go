// Package ledger balances a run: sent = received + every named loss +
// unexplained.
//
// A loss is often seen by several counters. The frames' way is described as
// hops; each hop, by what kind of device it is, has loss points; a point lists
// the counters that are views of one and the same event, and only the first of
// them that moved is summed:
//
//	sender    cable      forwarding        queue    cable      receiver
//	 va ═══════════════ in ─── ip ─── out ▒▒▒▒▒▒ ═══════════ vb ─► ring
//	    └ va tx_dropped ┘   Ip.*       └ qdisc ┘└ out tx_dr. ┘   └ PACKET_
//	      in rx_dropped                  .drops   vb rx_dropped    STATISTICS
//
// A counter that also counts what was not lost names no more frames than are
// missing. What moved and is part of no named loss is shown and never summed.
// Where frames are missing that no point names, the ledger says between which
// two hops they went missing, by the hops' packet counters.
//
// Everything here is arithmetic on counters that others have read; nothing
// keeps state.
package ledger
