/* SPDX-License-Identifier: GPL-2.0 */
/* What every program here includes: the kernel's headers and libbpf's, and no
 * BTF of a running kernel, so that the objects are the same wherever they are
 * built. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Keeps the compiler from moving memory accesses across it. */
#define compiler_barrier() asm volatile("" ::: "memory")
