// Package conversation makes whole TCP conversations: handshake, data, FIN, and
// runs of duplicate ACKs of exact lengths at exact gaps, as a tap sees them.
//
// A sender, a receiver and the path between them are played through, event by
// event; nothing is written that one of them did not send:
//
//	sender ──── data, one segment a slot of the rate ────► receiver
//	   ▲             │                                        │
//	   │            tap ──► emit(frame, time)                 │
//	   └──────────── ACKs: every second segment, ─────────────┘
//	                 at once where one is missing
//
// A run of N duplicate ACKs has a cause: one segment is held back until N others
// have passed it, or is lost and sent again. The receiver answers each of the N
// at once with the number it still waits for (RFC 5681 section 4.2), and the
// segment itself with a number that covers them all:
//
//	slot       0  1  2  3  4  5  6  7       N = 4, segment 2 held back
//	segment    0  1     3  4  5  6  2
//	ACK           2     2  2  2  2  7
//	                  └─ duplicates ─┘
//
// A held segment takes the first slot after those that pass it, and the sender
// leaves that slot free, so that the asked rate is never exceeded. A hole opens
// only behind a segment that was acknowledged: the ACK of the first one behind
// it would otherwise be new, not a duplicate.
//
// What is modelled, and by which rule:
//
//   - The receiver acknowledges every second segment; every one where they come
//     40 ms or more apart, where the timer of a delayed ACK would have run out
//     (RFC 5681 section 4.2; 40 ms is Linux's TCP_DELACK_MIN).
//   - The window is constant, wide enough for what is under way, and scaled (RFC
//     7323 section 2): a different one would make an ACK no duplicate.
//   - With SACK, ACKs carry the data behind the hole (RFC 2018 section 4). One
//     hole is open at a time, so there is one block, and it is the latest one.
//   - Timestamps tick once a millisecond; the receiver echoes TS.Recent (RFC 7323
//     section 4.3), which segments behind a hole leave as it is.
//   - A lost segment is sent again after the third duplicate ACK (RFC 5681
//     section 3.2), or, in a run of one or two, when the sender's timer runs out
//     (RFC 6298 section 2.4: a second at least). The sender has sent the N
//     segments of the run by then, and has nothing more to send until it has
//     sent the lost one again.
//   - A sender whose segment was only held back does not send it again: it waits
//     for longer than N segments, as those do that tell reordering from loss (RFC
//     4653; RFC 8985 once it has seen reordering).
//   - There is no slow start: the sender sends at the asked rate from its first
//     segment on.
//   - The IPv4 identification rises by one a segment, in the order of sending.
//
// A Conversation is read-only once made: Frames may be called from any goroutine
// and yields the same frames each time. A frame that it yields is valid until
// emit returns.
package conversation
