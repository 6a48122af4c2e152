/* SPDX-License-Identifier: MIT */
/*
 * The store's generation (store/generation.h) goes on while it is served. For the housekeeper only.
 */
#ifndef FENCE_CORE_UPKEEP_GENERATION_JOB_H
#define FENCE_CORE_UPKEEP_GENERATION_JOB_H

#include <stdint.h>

struct core;

struct generation_clock {
	int64_t due;	  /* CLOCK_BOOTTIME, ns */
	int64_t revision; /* that it was last raised for */
};

/* Raise it if a minute has gone by and there were commits since. */
void generation_tick(struct core *c, struct generation_clock *clock);

#endif
