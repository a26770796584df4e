//go:build ignore

// SPDX-License-Identifier: GPL-2.0
/* The live engine: sends a plan from within BPF_PROG_TEST_RUN with live frames
 * (Documentation/bpf/bpf_prog_run.rst). Each run is given a page; it either lets
 * it fall, where no frame is due, or makes the next frame of the plan in it and
 * redirects it to the port. What it writes is what plan.Stream.Write writes.
 *
 * Nothing of a page is trusted: its last user may have changed all of it. */
#include "base.h"
#include "csum.h"
#include "live.h"
#include "tag.h"

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} port SEC(".maps");

/* The tables of a plan. How many entries they have, and how long a head is, is
 * set when the plan is loaded. */
#define TABLE(name, val)                                                       \
	struct {                                                               \
		__uint(type, BPF_MAP_TYPE_ARRAY);                              \
		__uint(map_flags, BPF_F_MMAPABLE);                             \
		__uint(max_entries, 1);                                        \
		__type(key, __u32);                                            \
		val;                                                           \
	} name SEC(".maps")

TABLE(heads, __uint(value_size, 8));
TABLE(bodies, __uint(value_size, MAX_LEN)); /* from the end of the image on */
TABLE(frames, __uint(value_size, CHUNK));
TABLE(sizes, __type(value, struct size));
TABLE(patches, __type(value, struct patch));
TABLE(lists, __type(value, __u64));
TABLE(places, __type(value, place));
TABLE(order, __type(value, __u32));
TABLE(streams, __type(value, struct stream));
TABLE(cursors, __type(value, struct cursor));
TABLE(segments, __type(value, struct segment));
TABLE(dues, __type(value, struct due));
/* When the newest frames of a replay went, by their number modulo all but one of
 * the entries; in the last, how many have. */
TABLE(stamps, __type(value, __u64));

/* Constants of a plan: the verifier leaves out what they make unreachable. Where
 * there is one stream it stands here. */
const volatile struct stream only = {};
const volatile __u32 base = 0;       /* length of a fresh page */
const volatile __u32 head_size = 0;  /* value size of heads */
const volatile __u32 slots = 0;      /* of the order */
const volatile __u32 stamped = 0;    /* stamps that are kept, a power of two */

struct state job = {};

/* There is one program for each sort of plan, from the same functions: what the
 * compiler knows not to be needed costs nothing. These are what the functions ask
 * for, as constants. */
enum feature {
	SEVERAL = 1,  /* streams, in an order */
	WHOLE = 2,    /* captured frames */
	MADE = 4,     /* generated frames */
	VARIED = 8,   /* of several sizes, with patches, or with a long head */
};

/* give_up notes where, ends the job and drops the page. */
#define give_up()                                                              \
	do {                                                                   \
		job.fault = __LINE__;                                          \
		job.stop = 1;                                                  \
		return -1;                                                     \
	} while (0)

/* mix is plan.Random. */
static __always_inline __u64 mix(__u64 seed, __u64 i)
{
	__u64 z = seed + (i + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* above is the high half of a*b. */
static __always_inline __u64 above(__u64 a, __u64 b)
{
	__u64 al = (__u32)a, ah = a >> 32, bl = (__u32)b, bh = b >> 32;
	__u64 mid = ah * bl + (al * bl >> 32), low = al * bh + (__u32)mid;

	return ah * bh + (mid >> 32) + (low >> 32);
}

/* value is plan.Patch.Value for the next index. */
static __always_inline __u64 value(struct patch *p)
{
	__u64 v;

	if (p->mode == STEP) {
		v = p->start + p->n * p->step;
	} else if (p->mode == DRAW) {
		v = mix(p->seed, p->n);
		if (p->count)
			v = above(v, p->count);
		v += p->start;
	} else {
		__u32 k = p->list + (__u32)p->n;
		__u64 *l = bpf_map_lookup_elem(&lists, &k);

		v = l ? *l : 0;
	}
	if (++p->turn >= p->every) {
		p->turn = 0;
		if (++p->n == p->wrap)
			p->n = 0;
	}
	return v & p->mask;
}

/* apply writes the next value of patch k and returns what that adds to the sums
 * that cover it, and in the upper half which these are. It is a function of its
 * own to the verifier, so that it looks at it once. */
__noinline __u64 apply(struct xdp_md *ctx, __u32 k)
{
	struct patch *p = bpf_map_lookup_elem(&patches, &k);
	void *b, *end;
	__u64 old, now, v;
	__u32 shift;

	if (!p)
		return 0;
	v = value(p);
	shift = p->shift & 63;
	b = (void *)(long)ctx->data + (p->off & 0xfff);
	end = (void *)(long)ctx->data_end;
	if (p->width == 2) {
		if (b + 2 > end)
			return 0;
		old = bpf_ntohs(*(__u16 *)b);
		now = (old & ~(p->mask << shift)) | v << shift;
		*(__u16 *)b = bpf_htons(now);
	} else if (p->width == 4) {
		if (b + 4 > end)
			return 0;
		old = bpf_ntohl(*(__u32 *)b);
		now = (old & ~(p->mask << shift)) | v << shift;
		*(__u32 *)b = bpf_htonl(now);
	} else {
		if (b + 8 > end)
			return 0;
		old = bpf_be64_to_cpu(*(__u64 *)b);
		now = (old & ~(p->mask << shift)) | v << shift;
		*(__u64 *)b = bpf_cpu_to_be64(now);
	}
	return (__u64)p->sums << 32 | delta(fold(words(old)), fold(words(now)));
}

/* copy moves image bytes of a head to the beginning of a frame, 8 at a time; the
 * last 8 may overlap those before them. */
static __always_inline int copy(struct xdp_md *ctx, const __u64 *h, __u32 image, const int features)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 size = head_size, off;
	__u64 *p = data;

	if (!(features & VARIED)) {
		/* The verifier knows the number. */
		if (image < 8 || image > size || data + image > end)
			give_up();
#define WORD(k)                                                                \
	if (image >= 8 * (k) + 8)                                              \
		p[k] = h[k];
		WORD(0) WORD(1) WORD(2) WORD(3) WORD(4) WORD(5) WORD(6) WORD(7)
		WORD(8) WORD(9) WORD(10) WORD(11) WORD(12) WORD(13) WORD(14) WORD(15)
#undef WORD
		if (image & 7)
			*(__u64 *)(data + image - 8) = *(__u64 *)((void *)h + image - 8);
		return 0;
	}
	if (features & SEVERAL || image > 255) {
		if (!image || image > size || image > MAX_LEN || bpf_xdp_store_bytes(ctx, 0, (void *)h, image))
			give_up();
		return 0;
	}
#define PIECE(k)                                                               \
	if (image < 16 * (k) + 16)                                             \
		goto rest;                                                     \
	if (16 * (k) + 16 > size || data + 16 * (k) + 16 > end)                \
		give_up();                                                     \
	p[2 * (k)] = h[2 * (k)];                                               \
	p[2 * (k) + 1] = h[2 * (k) + 1];
	PIECE(0) PIECE(1) PIECE(2) PIECE(3) PIECE(4) PIECE(5) PIECE(6) PIECE(7)
	PIECE(8) PIECE(9) PIECE(10) PIECE(11) PIECE(12) PIECE(13) PIECE(14) PIECE(15)
#undef PIECE
rest:
	if (image & 8) {
		off = image & 0xf0;
		if (off + 8 > size || data + off + 8 > end)
			give_up();
		*(__u64 *)(data + off) = *(__u64 *)((void *)h + off);
	}
	if (image & 7) {
		off = (image - 8) & 0xff;
		if (off + 8 > size || data + off + 8 > end)
			give_up();
		*(__u64 *)(data + off) = *(__u64 *)((void *)h + off);
	}
	return 0;
}

/* whole makes a captured frame and returns its length. */
static __always_inline int whole(struct xdp_md *ctx, const struct stream *s, struct cursor *c)
{
	__u32 k = s->head + c->flow, len, off;
	place *at = bpf_map_lookup_elem(&places, &k);
	__u8 *chunk;

	if (!at)
		give_up();
	k = *at >> 32;
	off = *at >> 12 & (CHUNK - 1);
	len = *at & 0xfff;
	/* The compiler would compare *at as a whole and hide the bound. */
	asm volatile("" : "+r"(off));
	chunk = bpf_map_lookup_elem(&frames, &k);
	if (!chunk || len < ETH_HLEN || len > MAX_LEN || off > CHUNK - MAX_LEN)
		give_up();
	if (len != base && bpf_xdp_adjust_tail(ctx, (int)len - (int)base))
		give_up();
	if (bpf_xdp_store_bytes(ctx, 0, chunk + off, len))
		give_up();
	if (++c->flow == s->flows)
		c->flow = 0;
	return len;
}

/* size returns the length of the next frame and enters into acc what its size
 * class adds to the sums. */
static __always_inline int size(const struct stream *s, struct cursor *c, __u64 seq, __u64 *acc)
{
	struct size *z;
	__u32 k;

	if (s->sizes == 1)
		return s->len;
	if (s->random_sizes) {
		k = mix(s->size_seed, seq) % s->sizes;
	} else {
		k = c->size++;
		if (++c->turn == s->turn) {
			c->turn = 0;
			c->size++;
		}
		if (c->size >= s->sizes)
			c->size -= s->sizes;
		if (c->size >= s->sizes)
			c->size -= s->sizes;
	}
	k += s->size;
	z = bpf_map_lookup_elem(&sizes, &k);
	if (!z || z->len > MAX_LEN)
		give_up();
	for (int i = 0; i < MAX_SUMS; i++)
		acc[i] = z->sum[i];
	return z->len;
}

/* count adds d to the sums of the mask. Where the mask is no constant to the
 * verifier it would follow each way through the branches. */
static __always_inline void count(__u64 *acc, int from, __u32 mask, __u32 d, const int features)
{
	for (int i = from; i < MAX_SUMS; i++) {
		if (features & (SEVERAL | VARIED))
			acc[i] += (mask >> i & 1) * (__u64)d;
		else if (mask & 1 << i)
			acc[i] += d;
	}
}

/* made makes a generated frame and returns its length: plan.Stream.Write. */
static __always_inline int made(struct xdp_md *ctx, const struct stream *s, struct cursor *c, __u64 seq, __u64 now,
				const int features)
{
	__u64 acc[MAX_SUMS] = {}, *h;
	__u32 len = s->len, flow = c->flow, k;
	__u16 id = c->round + c->run;
	void *data, *end;

	if (features & VARIED) {
		int n = size(s, c, seq, acc);

		if (n < 0)
			return n;
		len = n;
	}
	if (s->random_flows)
		flow = mix(s->seed, c->draw) % s->flows;
	k = s->head + flow;
	if (s->run != 1 && ++c->run != s->run) {
		/* The flow goes on. */
	} else if (s->random_flows) {
		c->run = 0;
		c->draw++;
	} else if (s->flows > 1 || s->place == TAG_ID) {
		c->run = 0;
		if (++c->flow == s->flows) {
			c->flow = 0;
			c->round += s->run;
		}
	}
	h = bpf_map_lookup_elem(&heads, &k);
	if (!h)
		give_up();

	/* A page that grows is filled up with zeros. */
	if (len != base && bpf_xdp_adjust_tail(ctx, (int)len - (int)base))
		give_up();
	if (s->has_body) {
		__u32 n = len - s->image - s->pad;
		void *body;

		k = s->body;
		body = bpf_map_lookup_elem(&bodies, &k);
		if (!body || n > MAX_LEN)
			give_up();
		if (n && bpf_xdp_store_bytes(ctx, s->image, body, n))
			give_up();
	}
	if (copy(ctx, h, s->image, features))
		return -1;

	if (features & VARIED) {
		for (__u32 i = 0; i < MAX_PATCHES; i++) {
			__u64 d;

			if (i >= s->patches)
				break;
			d = apply(ctx, s->patch + i);
			count(acc, 0, d >> 32, d, features);
		}
	}
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (features & VARIED) {
		for (int i = 0; i < MAX_LENGTHS; i++) {
			__u16 *p;

			if (i >= s->lengths)
				break;
			p = data + (s->length[i].off & 0xfff);
			if ((void *)(p + 1) > end)
				give_up();
			*p = bpf_htons(len - s->pad - s->length[i].minus);
		}
	}

	if (s->place == TAG_END) {
		__u32 off = (len - s->pad - TAG_LEN) & 0xfff;
		void *t = data + off;
		__u64 sum;

		if (t + TAG_LEN > end)
			give_up();
		*(__u64 *)t = bpf_cpu_to_be64(s->tag | (seq >> 32 & 0xffff));
		*(__u64 *)(t + 8) = bpf_cpu_to_be64(seq << 32 | (now >> 16 & 0xffffffff));
		*(__u16 *)(t + 16) = bpf_htons(now);
		sum = s->words + (seq >> 32 & 0xffff) + (seq >> 16 & 0xffff) + (seq & 0xffff) +
		      (now >> 32 & 0xffff) + (now >> 16 & 0xffff) + (now & 0xffff);
		if (off & 1)
			sum = swap(fold(sum));
		count(acc, 0, s->covering, sum, features);
	} else if (s->place == TAG_ID) {
		__u16 *p = data + (s->id & 0xfff);

		if ((void *)(p + 1) > end)
			give_up();
		count(acc, 0, s->covering, delta(bpf_ntohs(*p), id), features);
		*p = bpf_htons(id);
	}

	/* Innermost first: a checksum is data to the sums around it. */
#pragma unroll
	for (int i = 0; i < MAX_SUMS; i++) {
		__u16 *p, old, sum;

		if (i >= s->sums)
			break;
		p = data + (s->sum[i].off & 0xfff);
		if ((void *)(p + 1) > end)
			give_up();
		old = bpf_ntohs(*p);
		sum = adjust(old, acc[i]);
		if (!sum && s->sum[i].ones)
			sum = 0xffff;
		*p = bpf_htons(sum);
		if (s->sum[i].outer)
			count(acc, i + 1, s->sum[i].outer, delta(old, sum), features);
	}
	return len;
}

/* next makes the plan's next frame and returns its length. */
static __always_inline int next(struct xdp_md *ctx, __u64 now, const int features)
{
	const struct stream *s = (const struct stream *)&only;
	struct cursor *c = &job.cursor;
	__u64 seq;

	if (features & SEVERAL) {
		__u32 k = job.slot, *slot = bpf_map_lookup_elem(&order, &k);

		if (!slot)
			give_up();
		if (++k == slots)
			k = 0;
		job.slot = k;
		k = *slot;
		s = bpf_map_lookup_elem(&streams, &k);
		c = bpf_map_lookup_elem(&cursors, &k);
		if (!s || !c)
			give_up();
		seq = c->seq++;
	} else {
		/* Not to be read as the zeros that the compiler sees. */
		asm volatile("" : "+r"(s));
		seq = job.first + job.frames;
	}
	if (features & WHOLE && (!(features & MADE) || s->captured))
		return whole(ctx, s, c);
	return made(ctx, s, c, seq, now, features);
}

/* load_segment goes on with the next segment. */
static __always_inline void load_segment(void)
{
	__u32 k = job.next++;
	struct segment *s = bpf_map_lookup_elem(&segments, &k);

	if (!s) { /* no schedule is written so */
		job.due = NEVER;
		return;
	}
	job.segment = *s;
	job.points_left = s->points;
	job.bound = s->bound;
	job.rem = 0;
}

/* load_due looks the due time of a captured frame up. */
static __always_inline void load_due(void)
{
	__u32 k = job.due_index;
	struct due *d = bpf_map_lookup_elem(&dues, &k);
	__u64 t;

	if (!d) {
		job.due = NEVER;
		return;
	}
	t = job.base + d->ns + (d->rest + job.carry >= job.num);
	job.due = t < NEVER ? t : NEVER;
}

/* take goes over to the schedule that user space asks for. */
static __noinline int take(__u32 asked)
{
	struct schedule *s = &job.schedules[(asked - 1) & (SCHEDULES - 1)];

	job.taken = (__u64)asked << 32;
	job.kind = s->kind;
	job.begun = s->start ? s->start : bpf_ktime_get_ns();
	job.number = 0;
	job.due = job.begun;
	job.burst = job.burst_left = s->burst;
	job.bound = s->bound;
	job.next = s->segment;
	if (s->kind == EVEN) {
		load_segment();
	} else if (s->kind == CAPTURED) {
		job.base = job.begun;
		job.carry = 0;
		job.pass = s->pass;
		job.pass_rest = s->pass_rest;
		job.num = s->num;
		job.dues = s->dues;
		job.due_index = 0;
		load_due();
	}
	return 0;
}

/* advance finds out when the frame behind the one that went is due. */
static __always_inline void advance(void)
{
	job.number++;
	if (job.kind == EVEN) {
		__u64 due;

		if (--job.burst_left)
			return;
		job.burst_left = job.burst;
		due = job.due + job.segment.step;
		job.rem += job.segment.frac;
		if (job.rem >= job.segment.mod) {
			job.rem -= job.segment.mod;
			due++;
		}
		job.due = due < NEVER ? due : NEVER;
		if (job.points_left && !--job.points_left)
			load_segment();
		return;
	}
	if (++job.due_index == job.dues) {
		job.due_index = 0;
		job.base += job.pass;
		job.carry += job.pass_rest;
		if (job.carry >= job.num) {
			job.carry -= job.num;
			job.base++;
		}
		if (job.base > NEVER)
			job.base = NEVER;
	}
	load_due();
}

/* note enters how late a frame goes into buckets, 64 to each power of two. */
static __always_inline void note(__u64 late)
{
	__u32 e = 0;

	if (late > job.late)
		job.late = late;
	if (late >= 1ULL << 36)
		late = (1ULL << 36) - 1;
	for (__u64 v = late >> 7; v; v >>= 1)
		e++;
	e = e * 64 + (late >> e);
	job.lateness[e & (BUCKETS - 1)]++;
}

/* stamp notes when frame seq of a replay went, then that it did. */
static __always_inline void stamp(__u64 seq, __u64 now)
{
	__u32 k = seq & (stamped - 1), last = stamped;
	__u64 *at = bpf_map_lookup_elem(&stamps, &k), *n = bpf_map_lookup_elem(&stamps, &last);

	if (at && n) {
		*(volatile __u64 *)at = now;
		*(volatile __u64 *)n = seq + 1;
	}
}

/* send is the program: it sends the next frame if one is due. */
static __always_inline int send(struct xdp_md *ctx, const int features)
{
	__u64 now;
	int len;

	if (unlikely(*(__u64 *)&job.stop != job.taken)) {
		if (job.stop)
			return XDP_DROP;
		take(job.asked);
	}
	if (job.kind != MAX) {
		__u64 late;

		now = bpf_ktime_get_ns();
		if (now < job.due && job.due < job.end)
			return XDP_DROP;
		if (now >= job.last || job.due >= job.end)
			goto over;
		late = now - job.due;
		if (late > job.bound) {
			__u64 slip = late - job.bound;

			job.slip += slip;
			job.begun += slip;
			job.due += slip;
			job.base += slip;
			late = job.bound;
			if (job.due >= job.end)
				goto over;
		}
		note(late);
		job.now = now;
	} else if (job.fresh) {
		/* A reading of the clock takes as long as a fifth of a frame. */
		job.fresh--;
		now = job.now;
	} else {
		now = bpf_ktime_get_ns();
		if (now >= job.end)
			goto over;
		job.fresh = STALE - 1;
		job.now = now;
	}

	len = next(ctx, now, features);
	if (len < 0)
		return XDP_DROP;
	if (features & (SEVERAL | WHOLE | VARIED))
		job.bytes += (len < 60 ? 60 : len) + 4;
	if (features == WHOLE)
		stamp(job.first + job.frames, now);
	if (job.kind != MAX)
		advance();
	if (++job.frames == job.count)
		job.stop = 1;
	return bpf_redirect_map(&port, 0, 0);
over:
	job.stop = 1;
	return XDP_DROP;
}

/* One stream of frames of one size, nothing varies but flow and tag. */
SEC("xdp")
int live_plain(struct xdp_md *ctx)
{
	return send(ctx, MADE);
}

/* One stream. */
SEC("xdp")
int live_varied(struct xdp_md *ctx)
{
	return send(ctx, MADE | VARIED);
}

/* One capture. */
SEC("xdp")
int live_replay(struct xdp_md *ctx)
{
	return send(ctx, WHOLE);
}

/* Any plan. */
SEC("xdp")
int live_any(struct xdp_md *ctx)
{
	return send(ctx, MADE | VARIED | WHOLE | SEVERAL);
}
