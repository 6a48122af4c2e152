/* SPDX-License-Identifier: MIT */
/*
 * What the bytes of the store are for, as it was a while ago. Adding it up reads whole tables
 * (seconds for a million files), so a thread of the lowest priority does that, for a hundredth of a
 * processor's time at most, and only if somebody wants to know. For this layer only.
 */
#ifndef FENCE_CORE_UPKEEP_SPACE_H
#define FENCE_CORE_UPKEEP_SPACE_H

#include "store/gc/usage.h"

#include <stdbool.h>
#include <stdint.h>

struct core;

struct space_result {
	struct usage usage;
	int64_t at;   /* wall clock, ns */
	int64_t took; /* ns */
};

/* -ENOMEM. */
int space_init(struct core *c);
void space_fini(struct core *c);
/* True and *out, if there is any result; begins to make a newer one if it is time. */
bool space_look(struct core *c, struct space_result *out);
/* The service ends: what is under way ends early. */
void space_stop(struct core *c);

#endif
