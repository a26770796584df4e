/* SPDX-License-Identifier: GPL-2.0 */
/* The tag of internal/wire/tag.go, as an XDP program finds and reads it.
 *
 * The rules are those of wire.Parse and wire.FindTag, to the letter: the tag is
 * the last 18 bytes of the outermost IP payload by its total length, or of the
 * frame where there is no sound IP header. find_tag looks where nearly every
 * frame has it and leaves the rest to find_tag_anywhere. */
#pragma once

#include "base.h"

#define TAG_LEN 18
#define TAG_MAGIC 0x5371

struct tag {
	__u64 seq;
	__u64 sent; /* CLOCK_MONOTONIC ns, 48 bits */
	__u16 run, stream;
	__u16 ethertype; /* of the frame, VLAN tags apart; 0 where it has none */
	__u16 ours;      /* there is a tag */
	__u32 len;       /* of the frame, without FCS */
};

/* The 18 bytes as three words, big endian. Being packed it is read and written
 * byte by byte. */
struct tag_words {
	__u64 a, b;
	__u16 c;
} __attribute__((packed));

/* read_tag reads 18 bytes, which need not be aligned, by words. */
static __always_inline void read_tag(const void *p, struct tag *t)
{
	__u64 a = bpf_be64_to_cpu(*(const __u64 *)p);
	__u64 b = bpf_be64_to_cpu(*(const __u64 *)(p + 8));

	t->ours = a >> 48 == TAG_MAGIC;
	t->run = a >> 32;
	t->stream = a >> 16;
	t->seq = (a & 0xffff) << 32 | b >> 32;
	t->sent = (b & 0xffffffff) << 16 | bpf_ntohs(*(const __u16 *)(p + 16));
}

static __always_inline bool is_vlan(__u16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

/* Where a walk over a frame's headers has come to. Types are big endian. */
struct walk {
	struct xdp_md *ctx;
	__u32 len;  /* of the frame */
	__u32 l3;   /* first byte after the EtherType */
	__u32 off;  /* of the next IPv6 header, from l3 */
	__u32 end;  /* of the IPv6 payload, from l3 */
	__u16 type;
	__u8 next;  /* kind of the next IPv6 header */
	__u8 sound; /* all extension headers lie within the payload */
};

static long skip_vlan(__u32 i, struct walk *w)
{
	__u16 type;

	if (!is_vlan(w->type) || bpf_xdp_load_bytes(w->ctx, w->l3 + 2, &type, 2))
		return 1;
	w->type = type;
	w->l3 += 4;
	return 0;
}

/* RFC 8200 section 4.1; the kinds that wire.Parse steps over. */
static __always_inline bool is_extension(__u8 next)
{
	return next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING ||
	       next == IPPROTO_DSTOPTS || next == IPPROTO_FRAGMENT;
}

static long skip_extension(__u32 i, struct walk *w)
{
	__u32 need = w->next == IPPROTO_FRAGMENT ? 8 : 2, n = 8;
	__u8 head[2];

	if (!is_extension(w->next)) {
		w->sound = 1;
		return 1;
	}
	if (w->off + need > w->end || bpf_xdp_load_bytes(w->ctx, w->l3 + w->off, head, 2))
		return 1;
	if (w->next != IPPROTO_FRAGMENT)
		n += head[1] * 8;
	if (w->off + n > w->end)
		return 1;
	w->next = head[0];
	w->off += n;
	return 0;
}

/* ip_end returns the end of the IP payload from w->l3; 0 without a sound header. */
static __always_inline __u32 ip_end(struct walk *w)
{
	__u32 have = w->len - w->l3;

	if (w->type == bpf_htons(ETH_P_IP)) {
		__u8 ip[4];
		__u32 header, total;

		if (have < 20 || bpf_xdp_load_bytes(w->ctx, w->l3, ip, 4) || ip[0] >> 4 != 4)
			return 0;
		header = (ip[0] & 0x0f) * 4;
		total = (__u32)ip[2] << 8 | ip[3];
		if (!total)
			total = have;
		if (header < 20 || header > have || total < header)
			return 0;
		return total < have ? total : have;
	}
	if (w->type == bpf_htons(ETH_P_IPV6)) {
		__u8 ip[8];
		__u32 payload;

		if (have < 40 || bpf_xdp_load_bytes(w->ctx, w->l3, ip, 8) || ip[0] >> 4 != 6)
			return 0;
		payload = (__u32)ip[4] << 8 | ip[5];
		w->end = payload && payload < have - 40 ? 40 + payload : have;
		w->next = ip[6];
		w->off = 40;
		/* The shortest extension header has 8 bytes. */
		bpf_loop((1 << 16) / 8, skip_extension, w, 0);
		return w->sound ? w->end : 0;
	}
	return 0;
}

/* find_tag_anywhere has no limits: any number of VLAN tags and extension headers,
 * IP options, frames of several buffers. */
static __noinline int find_tag_anywhere(struct xdp_md *ctx, struct tag *t)
{
	struct walk w = { .ctx = ctx, .l3 = ETH_HLEN };
	__u64 words[3]; /* aligned, as the stack must be read */
	__u32 end;

	w.len = bpf_xdp_get_buff_len(ctx);
	t->len = w.len;
	t->ours = 0;
	t->ethertype = 0;
	if (w.len < ETH_HLEN || bpf_xdp_load_bytes(ctx, 12, &w.type, 2))
		return 0;
	bpf_loop((1 << 16) / 4, skip_vlan, &w, 0);
	t->ethertype = bpf_ntohs(w.type);
	if (t->ethertype < 0x600) /* a length, IEEE 802.3 section 3.2.6 */
		t->ethertype = 0;
	end = ip_end(&w);
	end = end ? w.l3 + end : w.len;
	if (end < ETH_HLEN + TAG_LEN)
		return 0;
	if (bpf_xdp_load_bytes(ctx, end - TAG_LEN, words, TAG_LEN))
		return 0;
	read_tag(words, t);
	return 0;
}

/* find_tag looks in IPv4 without options and IPv6 without extension headers, with
 * up to two VLAN tags, whose lengths are sound and whose tag lies in the frame's
 * first buffer. several: frames may have more than one. */
static __always_inline void find_tag(struct xdp_md *ctx, struct tag *t, bool several)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 l3 = ETH_HLEN, total, off;
	__u8 *ip, *p;
	__u16 type;

	if (data + ETH_HLEN + 8 > end)
		goto anywhere;
	type = *(__u16 *)(data + 12);
	if (is_vlan(type)) {
		type = *(__u16 *)(data + 16);
		l3 = 18;
		if (is_vlan(type)) {
			type = *(__u16 *)(data + 20);
			l3 = 22;
		}
	}
	ip = data + l3;
	if (type == bpf_htons(ETH_P_IP)) {
		if (ip + 20 > (__u8 *)end || ip[0] != 0x45)
			goto anywhere;
		total = bpf_ntohs(*(__u16 *)(ip + 2));
		if (total < 20)
			goto anywhere;
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		if (ip + 40 > (__u8 *)end || ip[0] >> 4 != 6 || is_extension(ip[6]))
			goto anywhere;
		total = bpf_ntohs(*(__u16 *)(ip + 4));
		if (!total)
			goto anywhere;
		total += 40;
	} else {
		goto anywhere;
	}
	off = l3 + total - TAG_LEN;
	if (off > 0x3fff)
		goto anywhere;
	p = data + off;
	if (p + TAG_LEN > (__u8 *)end)
		goto anywhere;
	t->ethertype = bpf_ntohs(type);
	t->len = several ? bpf_xdp_get_buff_len(ctx) : end - data;
	read_tag(p, t);
	return;
anywhere:
	find_tag_anywhere(ctx, t);
}
