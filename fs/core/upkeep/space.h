/* SPDX-License-Identifier: MIT */
/*
 * What the bytes of the store are for, as it was a while ago. Adding it up reads whole tables
 * (seconds for a million files), so a thread of the lowest priority does that, for a hundredth of a
 * processor's time at most, and only if somebody wants to know. For this layer only.
 */
#ifndef FENCE_CORE_UPKEEP_SPACE_H
#define FENCE_CORE_UPKEEP_SPACE_H

#include "store/usage.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct core;

struct space_result {
	struct usage usage;
	int64_t at;   /* wall clock, ns */
	int64_t took; /* ns */
};

#define SPACE_WORDS (sizeof(struct space_result) / sizeof(int64_t))

/*
 * The newest result lies in slot[number % 2], and the next one is written into the other. So there
 * is no lock that a thread of low priority could keep from others.
 */
struct space {
	atomic_uint number; /* 0: none yet */
	_Atomic int64_t slot[2][SPACE_WORDS];
	_Atomic int64_t due; /* CLOCK_BOOTTIME, ns: not before */
	atomic_bool is_running;
	atomic_bool stop;
};

/* True and *out, if there is any result; begins to make a newer one if it is time. */
bool space_look(struct core *c, struct space_result *out);
/* The service ends: what is under way ends early. */
void space_stop(struct core *c);

#endif
