// Package convo tells which conversation a captured frame belongs to, and which of
// its two ends opened it.
//
//	frame ──► Packet.Decode ──► Table.Find ──► Conversation, from the client or not
//	          Ethernet, VLANs,                 both directions of addresses, ports
//	          IPv4, IPv6, TCP, UDP             and protocol
//
// A conversation's client is, in this order: the end in Options.ClientNet where the
// other is not; the sender of a SYN; the receiver of a SYN-ACK; the end whose port is
// the higher one; the sender of the first frame seen.
//
// A SYN begins a new conversation between the same ends, for port numbers are used
// again, where the one before was closed (by a RST, or a FIN from each end), or began
// in the middle, or began with another initial sequence number. Otherwise it is sent
// again. A SYN from each end before anything else is one simultaneous open.
//
// Frames of protocols without ports, ICMP errors among them, belong to the pair of
// addresses and the protocol. Fragments but the first have no ports: they belong to
// the conversation of their first fragment (addresses, protocol and identification),
// and to the pair of addresses where that was not seen.
//
// VLAN tags are passed over and do not tell conversations apart. Tunnels are not
// looked into: what they carry is the conversation of their ends.
//
// A Packet and a Table belong to one goroutine. Nothing is allocated for a frame of a
// conversation that is known, but for the first of several fragments. A Table keeps
// all conversations of a capture, up to Options.Max (4,194,304 unless told otherwise,
// some 600 MB). Frames of further ones have none; a SYN that would begin another one
// between known ends stays in the one before; Table.Untracked counts both.
package convo
