/* SPDX-License-Identifier: GPL-2.0 */
/* What the live engine and its program share: a plan as tables, and the state of
 * a job. Every multi-byte value is in the byte order of the machine. */
#pragma once

#include "base.h"

#define MAX_LEN 3408     /* longest frame, without FCS, that a page holds */
#define MAX_SUMS 4       /* plan.MaxSums */
#define MAX_LENGTHS 8
#define MAX_PATCHES 64   /* of a stream */
#define CHUNK (1 << 20)  /* bytes of captured frames in one piece */
#define SEGMENTS 65536   /* of ramps */
#define SCHEDULES 16     /* changes of the schedule that may be under way */
#define BUCKETS 2048
/* Frames that share one reading of the clock at full speed. They go to the driver
 * together: DEV_MAP_BULK_SIZE of include/net/xdp.h. */
#define STALE 16

/* Later than any run: pace.Never. */
#define NEVER (~0ULL >> 2)

enum tag_place { TAG_NONE, TAG_END, TAG_ID };

struct length {
	__u16 off, minus;
};

struct sum {
	__u16 off;
	__u8 outer; /* the sums that cover this field */
	__u8 ones;  /* 0 is written as 0xffff */
};

/* One stream of a plan. Its tables begin at the given places of the maps. */
struct stream {
	__u64 seed, size_seed;
	__u64 tag;   /* the first 8 bytes of a tag with sequence number 0 */
	__u64 words; /* the sum of their words */
	__u64 run;   /* frames of one flow in a row */
	__u64 turn;  /* frames after which the cycle of sizes is turned by one */
	__u32 flows;
	__u32 head;  /* in heads; of a captured stream, in places */
	__u32 size;  /* in sizes */
	__u32 sizes; /* 1: all frames have the length len */
	__u32 patch; /* in patches */
	__u32 patches;
	__u32 body;  /* in bodies */
	__u16 len;
	__u16 image; /* bytes that the heads have */
	__u16 pad;
	__u16 id;    /* where the IPv4 identification stands */
	__u8 captured;
	__u8 random_flows, random_sizes;
	__u8 has_body; /* what follows the image is not all 0 */
	__u8 place;    /* enum tag_place */
	__u8 covering; /* the sums that the tag, or the identification, counts into */
	__u8 lengths, sums;
	struct length length[MAX_LENGTHS];
	struct sum sum[MAX_SUMS];
};

/* How far a stream has come. */
struct cursor {
	__u64 seq;
	__u64 run;   /* frames of the flow's run that went */
	__u64 round; /* frames of each flow before this round */
	__u64 draw;  /* runs that went: what random flows are drawn by */
	__u64 turn;
	__u32 flow, size;
};

/* A field that varies: plan.Patch, and the index of its next value. */
struct patch {
	__u64 mask, start, step, count, every;
	__u64 seed;
	__u64 wrap; /* n goes round there; 0: never */
	__u64 turn; /* frames that had value n */
	__u64 n;
	__u32 list; /* in lists */
	__u16 off;
	__u8 width, shift, mode, sums;
	__u8 rest[6];
};

enum patch_mode { STEP, LIST, DRAW };

/* A size class. */
struct size {
	__u16 len;
	__u16 sum[MAX_SUMS]; /* what it adds to each */
	__u16 rest[3];
};

/* Where a captured frame lies: chunk << 32 | offset << 12 | length. */
typedef __u64 place;

/* Times evenly apart: the next is step ns later, and one more each time that frac
 * has added up to mod. */
struct segment {
	__u64 points; /* after which the next segment begins; 0: never */
	__u64 step, frac, mod;
	__u64 bound; /* how late a frame may go */
};

/* When a captured frame is due: see pace.Captured.Due. */
struct due {
	__u64 ns, rest;
};

enum schedule_kind { MAX, EVEN, CAPTURED };

struct schedule {
	__u64 start; /* 0: now */
	__u64 burst; /* frames due together */
	__u64 bound; /* of CAPTURED */
	__u64 pass, pass_rest, num;
	__u32 kind;
	__u32 segment; /* the first */
	__u32 dues;
	__u32 rest;
};

/* The job under way, shared with user space. */
struct state {
	/* Written by user space, before the job or while it runs. The program sets
	 * stop too: nothing is left to do. */
	__u32 stop;
	__u32 asked; /* schedules handed over */
	__u64 count; /* frames to send */
	__u64 first; /* sequence number of the only stream's first frame */
	__u64 end;   /* no frame is due at or after it */
	__u64 last;  /* nor sent at or after it */
	struct schedule schedules[SCHEDULES];

	/* Written by the program. */
	__u64 taken; /* schedules taken over << 32: what stop and asked are when nothing is new */
	__u32 kind;
	__u32 fault; /* line of the program that gave up */
	__u32 fresh; /* frames that may still go with the time now; set to 0 by user space */
	__u32 slot;  /* of the order */
	__u64 now;   /* when the last frame went, or a few before it */
	__u64 frames;
	__u64 bytes; /* with FCS, where frames differ in size */
	struct cursor cursor; /* of the only stream */
	__u64 late;  /* the most */
	__u64 slip;
	__u64 due;   /* the next frame */
	__u64 number; /* of the schedule: the next frame */
	__u64 begun; /* when the schedule's frame 0 was due, moved by what has slipped since */
	__u64 burst, burst_left;
	__u64 base, carry; /* of CAPTURED: the pass */
	__u64 pass, pass_rest, num;
	__u32 dues, due_index;
	struct segment segment; /* of EVEN */
	__u64 bound, rem, points_left;
	__u64 next; /* segment */
	__u64 lateness[BUCKETS];
};
