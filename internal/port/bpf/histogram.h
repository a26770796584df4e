/* SPDX-License-Identifier: GPL-2.0 */
/* Log-linear classes: numbers below 2^bits one by one, above that 2^(bits-1)
 * classes for each power of two. They are HdrHistogram's: 11 bits are its three
 * significant digits, 8 bits its two. */
#pragma once

#include "base.h"

/* What is known of a set of numbers besides the counts of its classes. */
struct moments {
	__u64 sum, sum_high; /* 128 bits: weeks of latencies overflow 64 */
	__u64 min, max;      /* min begins at the largest number */
	__u64 top;           /* log2 of the newest: the next is likely to be like it */
};

static __always_inline void add_moments(struct moments *m, __u64 v)
{
	m->sum += v;
	if (unlikely(m->sum < v))
		m->sum_high++;
	if (unlikely(v < m->min))
		m->min = v;
	if (unlikely(v > m->max))
		m->max = v;
}

/* log2_of returns the place of the highest bit of v, which is not 0. */
static __always_inline __u32 log2_of(__u64 v)
{
	__u32 n = 0;

	if (v >> 32) { v >>= 32; n += 32; }
	if (v >> 16) { v >>= 16; n += 16; }
	if (v >> 8) { v >>= 8; n += 8; }
	if (v >> 4) { v >>= 4; n += 4; }
	if (v >> 2) { v >>= 2; n += 2; }
	return n + (v >> 1);
}

static __always_inline __u32 class_of(struct moments *m, __u64 v, __u32 bits)
{
	__u32 shift;

	if (!(v >> bits))
		return v;
	if (unlikely(v >> 48)) /* 78 hours: nothing beyond is told apart */
		v = (1ULL << 48) - 1;
	if (unlikely(v >> (m->top & 63) != 1))
		m->top = log2_of(v);
	shift = m->top - (bits - 1);
	return (shift << (bits - 1)) + (v >> shift);
}
