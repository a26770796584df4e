// Package xdp is the engine that shares its frames' memory with the kernel:
// AF_XDP sockets (Documentation/networking/af_xdp.rst), zero-copy where the driver
// grants it and by copies elsewhere; [Info] says which, asked of the kernel.
//
// Frames lie in the UMEM, in chunks of 2 KiB, or 4 KiB for an MTU that needs it.
// Each frame is at one place at a time: free in a pool, with the engine's user, in
// one of four rings, or with the kernel. The pools of the two directions, and of
// the receive queues, are parts of the memory that never mix; each belongs to one
// Writer or Reader.
//
//	UMEM │ frame │ frame │ frame │ ... │ frame │ frame │ frame │
//	     └──────── receive pools ──────┴───── send pool ───────┘
//
//	Writer                    kernel                   Reader
//	  pool ──► TX ring ──────► port, wire                 ▲ frames, until the
//	   ▲                        │                         │ next Receive
//	   └─ completion ring ◄─────┘       wire, port ──► RX ring
//	                                          ▲           │
//	                                          └ fill ring ◄
//
// A ring is a power of two of entries and two indices that run freely. The one
// who writes entries then writes the producer, the other reads them and then
// writes the consumer:
//
//	ring        entries are     producer, written by    consumer, written by
//	TX          frames to send  Writer                  kernel
//	completion  frames sent     kernel                  Writer
//	fill        free frames     Reader                  kernel
//	RX          frames received kernel                  Reader
//
// # Sending
//
// Submit puts a batch into the TX ring and has the kernel take it, by sendto(2)
// where it wants to be woken (need_wakeup; in copy mode always). A frame is sent
// when the kernel took it. Copying, the kernel makes a packet of each frame and
// hands it to the driver past the queueing discipline; its answers (net/xdp/xsk.c):
//
//   - EAGAIN: not all were taken. Nothing is lost, and nothing counts it.
//   - EBUSY: the port refused the last frame that was taken, since its queue or
//     that of a veth's other end is full, or it has no carrier. The frame is gone,
//     the port counts it as tx_dropped, and it comes back by the completion ring at
//     once. The Writer knows it by that, puts it at the head of those that wait
//     and counts it in Retries. So tx_dropped moves by Retries and no frame is
//     missing. Where the other end of a veth has no NAPI, what is full is the
//     backlog of its CPU; its rx_dropped and the softnet counters move as well.
//
// XDP_STATISTICS count neither; its tx_invalid_descs would be an error of ours,
// and is looked at ten times a second.
//
// # Receiving
//
// A Reader has a socket on each receive queue, and an XDP program (bpf/xsk.bpf.c)
// that gives each frame to that of its queue and writes the time of arrival
// before it. The stack gets what no socket takes: nothing, while all queues are
// open. What finds no room is counted by the socket, and by a veth once more as
// rx_dropped where the program runs in the driver; see [Reader.Stats].
//
// A VLAN tag that a veth's sender keeps beside the frame (a VLAN device's, with
// tx-vlan-offload on) is not seen by XDP, and so not here; one within the frame is.
//
// # Lifetime
//
// Writers and Readers belong to one goroutine each; Retries and Stats may be
// called from any. Nothing allocates by the frame. Memory is locked and may be
// limited, see [Config] and [Info]. Close gives queue, memory and program back;
// the kernel does so for a process that is killed. A queue is free some
// milliseconds after that, which opening waits for.
package xdp
