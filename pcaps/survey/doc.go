// Package survey counts what is in a capture: protocols, conversations, sizes, times,
// and what is wrong with it.
//
//	pcaps.Record ─► Survey.Add ─┬─► times
//	                            ├─► Reframer, if it is not Ethernet
//	                            ├─► sizes, and what replay would leave out
//	                            ├─► protocols: a tree
//	                            └─► conversations (internal/convo)    ─► Report
//
// Every frame is counted once in every part, so the parts add up to Report.Frames.
// Bytes are those of the frame on the wire as the capture has it, without FCS; a size
// counts the FCS, and an Ethernet header where the link type has none but could get
// one (pcaps.Reframer).
//
// A Survey belongs to one goroutine and allocates nothing for a frame whose protocols
// and conversation it knows. Memory is bounded: 4,194,304 conversations of some 180
// bytes each (frames of further ones are Conversations.Untracked), 4,096 protocols
// (further ones are counted as "other protocols" of the one in front).
package survey
