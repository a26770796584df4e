// Package lab makes networks to try things in, out of network namespaces and
// veth pairs: a [Lab] of two hosts with a router between them, and a [Pair] of
// two ends of one cable. Nothing in it touches the machine's own network.
//
// The lab:
//
//	 namespace lab-a              namespace lab-r              namespace lab-b
//	┌────────────────┐   ┌───────────────────────────────┐   ┌────────────────┐
//	│             va ╞═══╡ in      Linux forwarding   out ╞═══╡ vb             │
//	│   198.18.0.1/24│   │ 198.18.0.254     198.18.1.254 │   │198.18.1.1/24   │
//	│  2001:2::1/64  │   │ 2001:2::254   2001:2:0:1::254 │   │2001:2:0:1::1/64│
//	└────────────────┘   └───────────────────────────────┘   └────────────────┘
//
// The addresses are those set apart for benchmarks (RFC 2544 appendix C.2.2,
// RFC 6890; RFC 5180 section 8 for IPv6).
//
// The router sends whatever comes in on one side out on the other, to vb or va,
// save for its own addresses: frames for any number of addresses behind vb
// pass, and so does a capture with addresses of its own once its frames bear
// the router's MAC address. Nobody owns the addresses .2 to .253 of either
// side, so a frame for one ends at the port without an answer: send to those.
//
// Frames are lost in two places, and each has its counter:
//
//	place                                 counted by
//	queue of out (a tc tbf, see TBF)      lab-r:out qdisc.drops
//	backlog of a CPU, full at             softnet cpuN.dropped, tx_dropped of
//	net.core.netdev_max_backlog frames    the sending end of a cable and
//	(each end without GRO has this one)   rx_dropped of its other end: one loss
//
// With [Config.GRO] the second place is the veth's own ring of 256 frames,
// counted by the sending end's tx_dropped and, where the frames were sent by
// XDP, by the other end's rx_dropped too (drivers/net/veth.c,
// veth_get_stats64).
//
// It is quiet: neighbours are permanent entries and the interfaces neither
// resolve addresses nor join multicast groups, so that no ARP, neighbour
// discovery, router solicitation or group report mixes with the frames that
// are counted; the hosts send no ICMP errors.
//
// Namespaces have no name unless [Config.Name] asks for one, and end with
// [Lab.Close] or with the process, however that ends. Named ones stay until
// Close or [Down]. The functions of a Lab may be called from any goroutine,
// Close after all others.
package lab
