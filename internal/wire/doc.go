// Package wire reads and changes frames in the caller's memory: where the
// layers of a frame begin and end, Internet checksums and their incremental
// update, the tag that a frame carries so that its receiver can count it, and
// fingerprints for frames that carry none.
//
// Parse finds the outer layers, for hot paths; a Stack finds all of them, through
// tunnels and what ICMP errors quote, and keeps their checksums when a field
// changes.
//
// Nothing here allocates. Functions keep no reference to a frame and hold no
// state: they may be called from any goroutine. A Stack holds one frame and
// belongs to one goroutine. Offsets are bytes from the first byte of the
// destination MAC address; lengths are without FCS unless a name says otherwise.
//
// The tag stands in the last 18 bytes of the IP payload, so a VLAN tag pushed
// or popped, Ethernet padding and the removal of an outer GTP-U header leave
// it where the receiver looks:
//
//	                            IP total length
//	           ├───────────────────────────────────────────┤
//	┌──────────┬────────┬────────┬──────────────┬──────────┬─────────┬─────┐
//	│ Ethernet │ IP     │ UDP... │ payload      │ tag (18) │ padding │ FCS │
//	└──────────┴────────┴────────┴──────────────┴──────────┴─────────┴─────┘
//	                                             ▲
//	 0        2       4        6                    12                  18
//	 ├────────┼───────┼────────┼────────────────────┼───────────────────┤
//	 │ magic  │ run   │ stream │ sequence (48 bits) │ sent ns (48 bits) │
//	 └────────┴───────┴────────┴────────────────────┴───────────────────┘
//
// All fields are big endian. The send time is CLOCK_MONOTONIC in nanoseconds
// modulo 2^48 (78 hours); differences are taken in the same arithmetic, so a
// run may last for weeks while no single frame may be under way for longer
// than 39 hours.
package wire
