// Package compare says how one capture differs from another: B, what came out of a
// device, from A, what went in.
//
//	A ─► prints ─┐        1. equal in all that is not ignored         same
//	             ├─ pair ─ 2. equal but for what routers change       altered
//	B ─► prints ─┘        3. of one flow, at one place in it          altered
//	                      4. of one length, at one place              altered
//	                         what is left of A                        missing
//	                         what is left of B: like one of A         duplicated
//	                                            else                  extra
//
// So A's frames = same + altered + missing, and B's = same + altered + duplicated +
// extra. Of frames that are equal the first of A goes with the first of B, and so on.
// The place of a frame is between the pairs that were found before it.
//
// Reordered are, of the pairs in B's order, those that stand in A before one that came
// already (RFC 4737 section 3.3); the other counts do not exclude that.
//
// Of each frame a print is kept: its fields, those above 32 bits as hashes (64 bits of
// the payload). With what pairing takes that comes to 350 bytes a frame of either
// capture, measured: 700 MB for two of a million, 7 GB for two of MaxFrames.
package compare
