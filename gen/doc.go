// Package gen turns recipes of frames, streams, into a plan.
//
//		streams.yaml ──Load──► []Spec ──Compile──► Source{Plan, Rate, Streams}
//		flags ──Simple.Spec──►                        │
//		                                              └─► plan.Plan: heads, body, patches, sums, order
//
//	 1. A Spec is what was written: text, as in the file or the flags.
//	 2. Its layers become headers, outermost first; those that go without saying
//	    (Ethernet, IPv4) are put in. Each field has a place in its header (the
//	    tables of kind.go), so a field that is set, one that varies and one that
//	    is varied a flow are the same row.
//	 3. google/gopacket builds one frame of them, lengths and checksums included.
//	 4. That frame's head is copied for every flow, and the fields that vary a
//	    flow are patched into the copies. Fields that vary a frame stay patches.
//	 5. The streams' rates in frames a second become the order of the plan.
//
// Defaults, so that short things stay short: the port's own MAC address to the
// peer's; 198.18.0.1 to 198.18.1.1 (RFC 2544 appendix C.2.2, kept for tests by
// RFC 6815) or 2001:2::1 to 2001:2:0:1::1 (RFC 5180 section 8); port 49184 to
// port 9, discard; TTL 64; a payload of zeros.
//
// Where nothing is said of how flows differ, they differ in the source port of
// UDP and TCP or the identifier of ICMP, and after each 64,512 (ICMP: 65,536)
// in the source address too; without ports in the source address, in ARP in
// the sender's address, without IP in the source MAC address.
//
// Everything here runs before the first frame: nothing keeps state, and any
// function may be called from any goroutine. A Source is read-only.
package gen
