// Package sides says which of two ports each frame of a capture leaves from.
//
//	             ┌ client: who opened the conversation ─► plan ─► client port
//	plan ──► Sorter                                                 │ DUT │
//	             └ server: who was asked ───────────────► plan ─► server port
//
// A frame with IP belongs to a conversation, and leaves from the port of the end
// that sent it. Who the client is internal/convo says: the one in the networks
// that the user names; else who sent the SYN; else the one with the higher port;
// else who was seen first.
//
// A frame without IP (ARP, LLDP, spanning tree) leaves from the side that its
// source MAC address has last sent an IP frame from, as far as the capture has
// been read; where it has sent none, from the client's. Such frames are counted
// apart.
//
// Split makes two plans of one. Both keep the times of the one, so that they hang
// together where both start at the same time.
//
// A Sorter belongs to one goroutine. Nothing else keeps state.
package sides
