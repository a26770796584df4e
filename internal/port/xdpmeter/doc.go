// Package xdpmeter counts a run's frames in the kernel: an XDP program on a port
// knows them by their tag, accounts for them and drops them. It is a
// meter.Receiver and its meter.Streams for rates that no reader in user space
// keeps up with, and its figures are theirs.
//
//	frame ─► XDP program ──┬─ of this run ─► account of the stream ─► dropped
//	                       └─ any other ───► counted ───────────────► the stack
//	                                             │
//	 maps, read through mmap ◄───────────────────┤ counters, window, histograms
//	 ring buffer ◄───────────────────────────────┘ loss periods, when they are over
//	     │ every 10 ms
//	     ▼
//	 OnLoss, Report
//
// What it counts is what internal/meter counts, but for RFC 5236 densities and
// delay variation (nil in a Report), and frames without a tag: those known by their
// IPv4 identification or their content pass on to the stack as strays.
//
// # One account a stream
//
// A stream has one account for all CPUs, with a lock: loss is known only to who
// sees all of a stream's numbers, and a port with several queues may spread a
// stream over them. A lock that is free costs some 5 ns of the program's time (a
// 2 GHz Xeon; a bpf_spin_lock costs 16 ns more), one that another CPU just had the
// way of a cache line: streams that keep to one queue each share nothing.
//
// # Memory
//
// In the kernel, a stream takes 16 bytes for each number of its window, 40 KiB,
// and, with up to 64 streams, 624 KiB for times in classes of 0.1 % (as
// internal/meter); with more, 84 KiB for classes of 0.8 %.
//
// # Lifetime and concurrency
//
// Close detaches the program; so does the kernel when the process ends, however it
// does. Figures can still be read after Close. Everything of a Meter and its Streams
// may be called from any goroutine. OnLoss is called from a goroutine of the Meter
// or from within Finish, one call at a time, and must not call Finish, Report or
// Total.
package xdpmeter
