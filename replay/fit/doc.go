// Package fit makes frames that are too long for a port fit it.
//
//	frame ──► Limit.Fits? ──► Limit.Apply ──► Frames: one or more that fit
//	                             │
//	           Fragment: as a router would (RFC 791, RFC 8200 section 4.5)
//	           Segment:  as segmentation offload would (TSO)
//	           Truncate: shorter, with lengths that say so
//
// What cannot be made to fit in the way asked for is an error, one of the Err
// values, and adds nothing to Frames. Headers that are made have right lengths
// and checksums, whatever those of the frame were; content that is carried over
// is carried over byte for byte. Ethernet padding is left off, MAC header and
// VLAN tags stand in front of every piece.
//
// Functions keep no state and may be called from any goroutine. A Frames belongs
// to one; used again it does not allocate once it has grown.
package fit
