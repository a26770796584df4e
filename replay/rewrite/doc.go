// Package rewrite changes the headers of captured frames: MAC addresses, VLAN
// tags, IP addresses, ports, TTL, DSCP, tunnel identifiers and TCP sequence
// numbers, with every length and checksum kept.
//
//	Rules ──► Compile ──► Rewriter ──► Rewrite: frame in, frame and Changed out
//
// What a frame's headers are is internal/wire's business (wire.Stack); this
// package says what becomes of them. In the order in which they are done:
//
//  1. VLAN tags of the frame: deleted, changed, added.
//  2. MAC addresses of the frame, and what ARP and neighbour discovery say of them.
//  3. From the outermost header to the innermost, at the levels that Rules.Layer
//     names: addresses (mapped, then stepped by the copy), TTL, DSCP, ports, TEID,
//     sequence numbers. Headers that an ICMP error quotes are changed as those of
//     the frame that it is about were; their TTL is left.
//  4. Checksums, the innermost first.
//
// Levels: an IP header that is not within a tunnel is outer, every other one is
// inner.
//
//	Ethernet │ IP │ UDP │ GTP-U │ IP │ TCP │ ...
//	          ◄── outer ───────► ◄── inner ──►
//
// Checksums follow by the difference (RFC 1624): a wrong one stays wrong by as
// much, unless Rules.FixChecksums computes it anew. Of fragments all have their
// addresses changed and only the first, which holds the header, its ports and
// the checksum of the whole datagram. Lengths never change but for VLAN tags,
// which no length counts.
//
// A Rewriter holds no state between frames: what becomes of a frame depends on
// its bytes and the number of the copy alone, so one Rewriter serves any number
// of goroutines. It keeps no reference to a frame and does not allocate where
// the caller's buffer has room.
package rewrite
