// Bench measures squall on a veth pair, side by side with trafgen in the same
// run, and prints each figure with its spread and the ratios between them. It
// judges nothing: absolute figures belong to the machine they were measured on.
//
//	pair-a:va ═════ vb:pair-b     one sender, pinned to one core; the
//	                              receiver is the stack of vb, on that core
//
// Both senders are whole programs, started alike, and what they sent is read
// from va's own counter, so neither is believed.
//
// Run it by make bench, as root.
package main
