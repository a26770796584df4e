// Package live is the engine for top speed: a BPF program in the kernel makes the
// frames of a plan, paces them and sends them, some 5 million a second from one
// core. It is a port.Sender; it receives nothing.
//
// A Send is a call of BPF_PROG_TEST_RUN with live frames (Linux 5.18,
// Documentation/bpf/bpf_prog_run.rst), which gives the program one page after the
// other:
//
//	    plan.Plan                        this process
//	───────┼──────────────────────────────────────────────────────────────
//	       ▼ tables                      the kernel
//	 heads, bodies, sizes,     ┌─────────────────────────────────┐
//	 patches, order, frames ──►│ due?  no: let the page fall     │◄── page, again
//	                           │ yes: head, body, fields, tag,   │      and again
//	 schedule ────────────────►│      checksums; redirect        │
//	                           └────────────────┬────────────────┘
//	                                            ▼
//	                          port (ndo_xdp_xmit of its driver)
//
// What it writes is what plan.Plan.Write writes, byte for byte. The page of a frame
// comes back with whatever the receiver made of it (on a veth they share it), so
// every byte is written each time: the head from a table, the rest by growing the
// page, which the kernel fills up with zeros, or from the body.
//
// There is one program for each sort of plan (one size and no patches, one stream,
// one capture, anything), and the verifier leaves out of it what the plan's
// constants make unreachable.
//
// Time: where a schedule has due times the clock is read for every page, and a
// frame goes within some 100 ns of when it is due, at up to 0.67 million a second
// one by one, then in twos, above 1.1 million in fours, above 1.7 in batches of 16. At full speed the clock is read once for
// 16 frames, some 3 us: reading it takes as long as a fifth of a frame, and they go
// to the driver together anyway. Below 4,000 frames a second the thread sleeps in
// between; above, it keeps its core busy.
//
// An anchor keeps the program attached to something that nobody uses, see newAnchor.
// Everything that a Sender puts into the kernel ends with the process.
//
// What can go wrong unseen: a driver that refuses a frame drops it, and no error
// comes back. Its counters say so, but for a veth whose other end does not receive
// by NAPI, which loses all without counting; Open refuses that, see PreparePeer.
//
// A Sender belongs to one goroutine, whose thread it locks while it sends and pins
// if told to; Reschedule may be called from any.
package live
