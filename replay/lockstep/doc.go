// Package lockstep replays a capture from two ports so that each conversation
// holds together for whatever stands between them: a stateful firewall, a flow
// offload, a NAT.
//
// A frame leaves when its own side's frames in front of it have left, and when
// the other side's frames in front of it have arrived here:
//
//	client port          DUT          server port
//	    │── 1 SYN ────────────────────────►│
//	    │◄──────────────────── SYN-ACK 2 ──│   not before 1 came
//	    │── 3 ACK ────────────────────────►│   not before 2 came
//	    │── 4 data ───────────────────────►│   right behind 3
//	    │◄─────────────────────────ACK 5 ──│   not before 3 and 4 came
//
// Conversations do not wait for each other, but for two of the same addresses and
// ports, of which the later one waits. What could leave does so in the capture's
// order, as fast as arrivals allow: at most a window of frames is under way in each
// direction. With a schedule no frame leaves before its time.
//
// A frame that has not arrived after its share of the wait is sent again; when the
// whole wait is over it is given up. Its conversation is then abandoned: what is
// left of it is not sent. (Or it goes on, where Options.GoOn says so.)
//
//	sent      again     again     again     given up
//	 │ wait/4  │ wait/4  │ wait/4  │ wait/4  │            3 retries
//
// An arrival is known by its content (wire.Fingerprint). Through a NAT (learn) that
// cannot be: content is then hashed without addresses, ports, checksums, TTL and
// IPv4 identification, and belongs to the conversation with the addresses and ports
// that it arrives with. Who they are the first frame of each conversation tells: it
// goes alone, and conversations whose first frames differ in nothing else open one
// after the other. The other side's frames are then sent to the addresses and ports
// that were seen, by incremental update of their checksums (RFC 1624), so that wrong
// ones stay wrong. TCP sequence numbers are to pass unchanged.
//
// What is left out, and counted: frames without IP, which no router forwards; and
// with learn fragments and ICMP errors, whose content a NAT changes too.
//
// A Script is made once and may be run again; a Script and its Run belong to one
// goroutine, which owns both ports. Nothing is allocated by the frame; a frame that
// is sent again costs an entry in a map.
package lockstep
