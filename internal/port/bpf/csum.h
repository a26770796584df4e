/* SPDX-License-Identifier: GPL-2.0 */
/* The one's complement arithmetic of internal/wire/checksum.go. */
#pragma once

#include "base.h"

/* fold reduces an unfolded sum to 16 bits with end-around carry. */
static __always_inline __u16 fold(__u64 s)
{
	s = (s & 0xffffffff) + (s >> 32);
	s = (s & 0xffff) + (s >> 16);
	s = (s & 0xffff) + (s >> 16);
	s = (s & 0xffff) + (s >> 16);
	return s;
}

/* words is the sum of the 16-bit words of v. */
static __always_inline __u64 words(__u64 v)
{
	return (v >> 48) + (v >> 32 & 0xffff) + (v >> 16 & 0xffff) + (v & 0xffff);
}

/* delta is what a sum gains when a piece whose sum was old now has the sum now
 * (RFC 1624 equation 3). */
static __always_inline __u32 delta(__u16 old, __u16 now)
{
	return (__u32)now + (__u16)~old;
}

/* adjust is the checksum field after d was added to what it is taken of. */
static __always_inline __u16 adjust(__u16 checksum, __u64 d)
{
	return ~fold((__u16)~checksum + d);
}

/* swap is a sum whose piece begins at an odd offset (RFC 1071 section 2(B)). */
static __always_inline __u16 swap(__u16 sum)
{
	return sum << 8 | sum >> 8;
}
