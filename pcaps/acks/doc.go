// Package acks finds in a capture the runs of duplicate ACKs (RFC 5681) and the
// reordering (RFC 4737) of each TCP conversation, from sequence numbers.
//
//	pcaps.Reader ──► Walk ──► Frame ─┬─► DupAcks.Add ──► Report
//	                 conversations   └─► Reorder.Add ──► Report
//
// A capture sees what passed one place. Both analyses keep, for each end of a
// conversation, what the other end would know had it stood there:
//
//	            SND.UNA = greatest ACK seen            SND.NXT = greatest end seen
//	───────────────┼──────────────────────────────────────────┼──────────► sequence
//	  acknowledged │ outstanding: an ACK repeated now is a dup │ not yet sent
//
// Sequence numbers wrap: each is unwrapped to 64 bits, as the one nearest to the
// last of its direction (differences below 2^31, RFC 1982).
//
// What a capture does not show:
//
//   - Where it begins in mid-conversation, or has frames of one direction only,
//     nobody knows what is outstanding until a segment of the other direction
//     comes. Until then it is taken that something is, and the report says so
//     (OneSided).
//   - Where frames are missing in it, data may be outstanding that it does not
//     show; such an ACK is counted as Settled. An ACK of data that it does not
//     show raises SND.NXT and is counted (Unseen). A SACK block proves that what
//     it names was sent.
//
// An analysis belongs to one goroutine. Its memory grows with the conversations
// (bounded by the table that numbers them) and with the runs that it keeps
// (Config.Keep).
package acks
