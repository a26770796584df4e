//go:build ignore

// SPDX-License-Identifier: GPL-2.0
/* Frames of a queue that has an AF_XDP socket go to it, each with the time of its
 * arrival in the 8 bytes before it; all others go on to the stack untouched.
 *
 *	frame ─► socket of its queue? ──► stamp ──► socket's ring
 *	                │ none                        │ full: dropped, and counted
 *	                ▼                             ▼ by the socket
 *	              stack
 */
#include "base.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1); /* receive queues, set before loading */
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

SEC("xdp")
int squall_xsk(struct xdp_md *ctx)
{
	__u32 queue = ctx->rx_queue_index;
	__u64 *at;

	if (!bpf_map_lookup_elem(&sockets, &queue))
		return XDP_PASS;
	/* A driver need not have room for metadata; the reader sees that. */
	if (!bpf_xdp_adjust_meta(ctx, -(int)sizeof(*at))) {
		at = (void *)(long)ctx->data_meta;
		if ((void *)(at + 1) <= (void *)(long)ctx->data)
			*at = bpf_ktime_get_ns();
	}
	return bpf_redirect_map(&sockets, queue, XDP_PASS);
}

char _license[] SEC("license") = "GPL";
