//go:build ignore

// SPDX-License-Identifier: GPL-2.0
/* The XDP meter: frames of this run are counted by their tag and end here
 * (XDP_DROP), all others go on to the stack (XDP_PASS). The figures are those of
 * internal/meter, whose stream.go, loss.go, reordering.go and dupacks.go this
 * follows step by step.
 *
 *	frame ─► tag? ──► account of its stream ──► slot of its number ──► drop
 *	          │ no         │                        │
 *	          ▼            ▼                        ▼ loss periods that are over
 *	         pass      counters (mmap)          ring buffer ──► user space
 *
 * A stream has one account, which all CPUs share under a lock: loss is known only
 * to who sees all of a stream's numbers. The lock is our own word, not a
 * bpf_spin_lock, since helpers are called while it is held and user space maps the
 * accounts. An XDP program is neither preempted nor nested, so whoever holds the
 * lock comes to its end. */
#include "base.h"
#include "histogram.h"
#include "tag.h"

#define MAX_RUN 64 /* of duplicate ACKs, as internal/meter/dupacks.go */
#define COUNT_BITS 8
#define QUEUES 256
#define KINDS 32   /* of strays */

/* Set before the program is loaded. */
volatile const __u16 run;
volatile const bool several;    /* frames may have several buffers */
volatile const bool clock_held; /* time is clock_now: for tests */
volatile const __u32 time_bits, time_classes;

__u64 clock_now;

__u64 foreign, misdirected;
/* Frames that no account holds, since its lock was not to be had. */
__u64 stuck;
/* Strays by EtherType + 1, in order of appearance; those without one and of
 * further kinds are in other. */
struct stray { __u64 kind, frames; } strays[KINDS];
__u64 other;

struct slot {
	/* Of a frame that is here, when it arrived; of a missing one, when the
	 * first that overtook it did. */
	__u64 at;
	/* HERE, or the place among the first arrivals of the one that overtook. */
	__u64 index;
};
#define HERE (~0ULL)

/* A loss period that is over. */
struct period {
	__u64 account, first, frames;
	__u64 at, until;  /* arrivals of its neighbours */
	__u64 previous;   /* the number lost before it, or NONE */
};
#define NONE (~0ULL)

struct account {
	/* What each frame changes. */
	__u64 lock;
	__u64 next;       /* highest number seen + 1 */
	__u64 received, bytes;
	__u64 before;     /* arrival of the newest settled number that was received */
	__u64 finished;   /* set by user space: whatever comes is late */
	/* Set by user space at the beginning. */
	__u64 limit;      /* above every number that can be sent */
	__u64 mask;       /* window - 1 */

	__u64 slots;      /* of the window's first slot, in the map */
	__u64 noticeable_at; /* delta of RFC 3357 */
	__u64 lost, missing; /* settled; all below next, as meter.Live has it */
	struct moments latency;

	/* A loss period that is not over yet. */
	__u64 open_first, open_frames, open_at, open_previous;
	__u64 last;       /* newest lost number, where lost is not 0 */
	__u64 periods, untold, noticeable;
	__u64 duplicated, late, wild, negative;
	struct moments extent, late_time;
	__u64 reordered;

	__u64 runs[MAX_RUN + 1];
	__u64 recent[MAX_RUN]; /* newest first arrivals */
	__u64 pad[7]; /* to whole cache lines */
};

#define ARRAY(name, T, flags) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(max_entries, 1); /* set before loading */ \
		__type(key, __u32); \
		__type(value, T); \
		__uint(map_flags, flags); \
	} name SEC(".maps")

ARRAY(numbers, __u32, 0); /* stream to account, +1 */
ARRAY(accounts, struct account, BPF_F_MMAPABLE);
ARRAY(slots, struct slot, BPF_F_MMAPABLE);
/* Classes of all accounts, one after the other. */
ARRAY(latencies, __u64, BPF_F_MMAPABLE);
ARRAY(late_times, __u64, BPF_F_MMAPABLE);
ARRAY(extents, __u64, BPF_F_MMAPABLE);

#define COUNT_CLASSES (((48 - COUNT_BITS) << (COUNT_BITS - 1)) + (1 << COUNT_BITS))

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, QUEUES);
	__type(key, __u32);
	__type(value, __u64);
} queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} periods SEC(".maps");
/* Keeps the type, which bpf2go is to know, in the object. */
const struct period *period_type __attribute__((unused));

struct spin {
	__u64 *lock;
	bool got;
};

static long try_lock(__u32 i, struct spin *s)
{
	if (*(volatile __u64 *)s->lock)
		return 0;
	s->got = __sync_val_compare_and_swap(s->lock, 0, 1) == 0;
	return s->got;
}

/* acquire_slowly gives up after the largest loop there is, some 20 ms or more: the
 * holder's virtual CPU may have been taken from it. */
static __noinline bool acquire_slowly(struct account *a)
{
	struct spin s = { .lock = &a->lock };

	bpf_loop(1 << 23, try_lock, &s, 0);
	return s.got;
}

static __always_inline bool acquire(struct account *a)
{
	if (likely(__sync_val_compare_and_swap(&a->lock, 0, 1) == 0))
		return true;
	return acquire_slowly(a);
}

static __always_inline void release(struct account *a)
{
	__sync_lock_test_and_set(&a->lock, 0);
}

static __always_inline struct slot *slot_of(struct account *a, __u64 seq)
{
	__u32 k = a->slots + (seq & a->mask);

	return bpf_map_lookup_elem(&slots, &k);
}

static __always_inline void tally(void *classes, struct moments *m, __u32 first, __u64 v, __u32 bits)
{
	__u32 k = first + class_of(m, v, bits);
	__u64 *n = bpf_map_lookup_elem(classes, &k);

	if (n)
		++*n;
	add_moments(m, v);
}

/* lose settles n numbers from first on as lost. */
static __always_inline void lose(struct account *a, __u64 first, __u64 n)
{
	if (a->lost && first - a->last <= a->noticeable_at)
		a->noticeable++;
	a->noticeable += n - 1; /* the others are at a distance of 1 */
	if (!a->open_frames) {
		a->open_first = first;
		a->open_at = a->before;
		a->open_previous = a->lost ? a->last : NONE;
	}
	a->open_frames += n;
	a->lost += n;
	a->last = first + n - 1;
}

/* close_period ends a loss period: seq, which follows it, arrived at that time. */
static __noinline int close_period(struct account *a, __u32 account, __u64 seq, __u64 at)
{
	struct period p = {
		.account = account,
		.first = a->open_first,
		.frames = a->open_frames,
		.at = a->lost == seq ? at : a->open_at, /* none arrived before */
		.until = at,
		.previous = a->open_previous,
	};

	a->periods++;
	a->open_frames = 0;
	if (bpf_ringbuf_output(&periods, &p, sizeof(p), BPF_RB_NO_WAKEUP))
		a->untold++;
	return 0;
}

/* settle decides on number seq, which leaves the window. */
static __always_inline void settle(struct account *a, __u32 account, const struct slot *s, __u64 seq)
{
	if (likely(s->index == HERE)) {
		if (unlikely(a->open_frames))
			close_period(a, account, seq, s->at);
		a->before = s->at;
	} else {
		lose(a, seq, 1);
	}
}

struct gap {
	struct account *a;
	__u64 next, at, index;
	__u32 account;
};

/* overtake settles the oldest number of the window and marks the next one missing. */
static long overtake(__u32 i, struct gap *g)
{
	struct account *a = g->a;
	__u64 seq = g->next + i;
	struct slot *s = slot_of(a, seq);

	if (!s)
		return 1;
	if (seq > a->mask)
		settle(a, g->account, s, seq - a->mask - 1);
	s->at = g->at;
	s->index = g->index;
	return 0;
}

/* extend moves the window up to seq, beyond next. Slots are marked in a full turn
 * at most, since all of them get the same mark; numbers that were never in the
 * window are lost. */
static __noinline int extend(struct account *a, __u32 account, __u64 seq, __u64 now)
{
	struct gap g = { .a = a, .next = a->next, .at = now, .index = a->received, .account = account };
	__u64 window = a->mask + 1, n = seq - g.next + 1;

	a->missing += n - 1;
	bpf_loop(n < window ? n : window, overtake, &g, 0);
	if (n > window)
		lose(a, g.next, n - window);
	return 0;
}

/* reorder counts a first arrival that others overtook. */
static __noinline int reorder(struct account *a, __u32 account, const struct slot *gap, __u64 seq, __u64 now)
{
	__u64 received = a->received;
	__s64 late = now - gap->at;
	__u32 n;

	a->reordered++;
	a->missing--;
	tally(&extents, &a->extent, account * COUNT_CLASSES, received - gap->index, COUNT_BITS);
	tally(&late_times, &a->late_time, account * time_classes, late > 0 ? late : 0, time_bits);
	/* Places that no frame has come to yet hold 0, which ends a run as well. */
	for (n = 0; n < MAX_RUN; n++)
		if (a->recent[(received - 1 - n) % MAX_RUN] <= seq)
			break;
	a->runs[n]++;
	return 0;
}

static __always_inline void count(struct account *a, __u32 account, const struct tag *t, __u64 now)
{
	__u64 seq = t->seq, next = a->next;
	struct slot *s;
	__s64 delay;

	if (unlikely(seq >= a->limit)) {
		a->wild++;
		return;
	}
	if (unlikely(a->finished || (seq < next && next - seq > a->mask + 1))) {
		a->late++;
		return;
	}
	s = slot_of(a, seq);
	if (!s)
		return;
	if (likely(seq == next)) {
		if (seq > a->mask)
			settle(a, account, s, seq - a->mask - 1);
		a->next = seq + 1;
	} else if (seq > next) {
		extend(a, account, seq, now);
		a->next = seq + 1;
	} else if (s->index == HERE) {
		a->duplicated++;
		return;
	} else {
		reorder(a, account, s, seq, now);
	}

	delay = (__s64)((now - t->sent) << 16) >> 16;
	if (likely(delay >= 0))
		tally(&latencies, &a->latency, account * time_classes, delay, time_bits);
	else
		a->negative++;
	s->at = now;
	s->index = HERE;
	a->recent[a->received % MAX_RUN] = seq;
	a->received++;
	a->bytes += (t->len < ETH_ZLEN ? ETH_ZLEN : t->len) + ETH_FCS_LEN;
}

static __noinline int count_stray(__u16 ethertype)
{
	__u64 kind = (__u64)ethertype + 1;
	__u32 i;

	for (i = 0; ethertype && i < KINDS; i++) {
		__u64 have = *(volatile __u64 *)&strays[i].kind;

		if (!have)
			have = __sync_val_compare_and_swap(&strays[i].kind, 0, kind);
		if (!have || have == kind) {
			__sync_fetch_and_add(&strays[i].frames, 1);
			return 0;
		}
	}
	__sync_fetch_and_add(&other, 1);
	return 0;
}

static __always_inline void count_queue(__u32 queue)
{
	__u64 *frames;

	if (queue >= QUEUES)
		queue = QUEUES - 1;
	frames = bpf_map_lookup_elem(&queues, &queue);
	if (frames)
		++*frames;
}

SEC("xdp")
int squall_meter(struct xdp_md *ctx)
{
	__u32 stream, account, *number;
	struct account *a;
	struct tag t;
	__u64 now;

	count_queue(ctx->rx_queue_index);
	find_tag(ctx, &t, several);
	if (!t.ours) {
		count_stray(t.ethertype);
		return XDP_PASS;
	}
	if (t.run != run) {
		__sync_fetch_and_add(&foreign, 1);
		return XDP_PASS;
	}
	stream = t.stream;
	number = bpf_map_lookup_elem(&numbers, &stream);
	if (!number || !*number) {
		__sync_fetch_and_add(&misdirected, 1);
		return XDP_DROP;
	}
	account = *number - 1;
	a = bpf_map_lookup_elem(&accounts, &account);
	if (!a)
		return XDP_ABORTED; /* cannot be: numbers has accounts only */
	now = clock_held ? clock_now : bpf_ktime_get_ns();
	if (!acquire(a)) {
		__sync_fetch_and_add(&stuck, 1);
		return XDP_DROP;
	}
	count(a, account, &t, now);
	release(a);
	return XDP_DROP;
}

char _license[] SEC("license") = "GPL";
