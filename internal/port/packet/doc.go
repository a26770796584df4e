// Package packet is the engine for every driver: frames go out and come in
// through AF_PACKET sockets (packet(7)), opened with github.com/mdlayher/packet
// in the port's network namespace.
//
// A Writer hands batches to the kernel by sendmmsg(2), past the port's queueing
// discipline unless told otherwise. Its slots lie in one mapping, made once:
//
//	mmsghdr[k] ─► iovec[k] ─► slot k: │ frame ......│ spare │
//
// A Reader takes frames out of a ring shared with the kernel (TPACKET_V3,
// Documentation/networking/packet_mmap.rst). The kernel fills a block and gives
// it over when it is full or a few ms old; one Receive returns one block, and
// the next gives it back:
//
//	┌ block 0 ┐┌ block 1 ┐┌ block 2 ┐┌ block 3 ┐
//	│ kernel  ││ reader  ││ kernel  ││ kernel  │
//	└─────────┘└────▲────┘└────▲────┘└─────────┘
//	            Receive     next one
//
//	tpacket3_hdr (48) │ sockaddr_ll (20) │ spare (14) │ frame │ tpacket3_hdr ...
//
// The 14 spare bytes take the VLAN tag that the kernel has taken out of a frame.
//
// Writers and Readers belong to one goroutine each; Retries and Stats may be
// read from any. Nothing allocates by the frame.
package packet
