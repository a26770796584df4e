// Package bpf holds the BPF programs of the engines, as C and as what was compiled
// from it, and their maps and variables as Go types. What they mean is told where
// they are used.
//
//	live.bpf.c    sends plans         internal/port/live
//	meter.bpf.c   counts arrivals     internal/port/xdpmeter
//	xsk.bpf.c     steers to AF_XDP    internal/port/xdp
//
//	base.h        the kernel's headers and libbpf's; no BTF of a running kernel
//	csum.h        one's complement sums, as in internal/wire
//	tag.h         finding and reading a tag
//
// go generate compiles them, with clang 14 and libbpf-dev of Debian 12; the result
// is committed, so that neither is needed to build. Objects are for little-endian
// machines.
package bpf
