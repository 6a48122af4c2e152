/* SPDX-License-Identifier: MIT */
/*
 * Proof for a watchdog that the service can answer: a token that goes through all its threads.
 * Layer: core, room loop.
 */
#ifndef FENCE_CORE_LOOP_PULSE_H
#define FENCE_CORE_LOOP_PULSE_H

#include "core/loop/committer.h"

#include <stdatomic.h>
#include <stdint.h>

struct core_pulse {
	int64_t every_ns;
	/*
	 * From the notifier or the housekeeper: all threads of core have answered, or the committer
	 * is at work on something long.
	 */
	void (*beat)(void *arg);
	void *arg;
};

struct pulse {
	struct committer *committer; /* borrowed */
	struct store *store;	     /* borrowed */
	struct core_pulse to;	     /* set before `started` */
	atomic_bool started;
	atomic_bool under_way; /* the token is out */
	struct job job;	       /* the token; the committer's while it is out */
	int64_t due;	       /* CLOCK_BOOTTIME; the housekeeper's, as is `work` */
	uint64_t work;	       /* of the writer, when it was last looked at */
};

void pulse_init(struct pulse *p, struct committer *m, struct store *store);
/* Once. */
void pulse_start(struct pulse *p, const struct core_pulse *to);
/* From the housekeeper. */
void pulse_tick(struct pulse *p);
/* When pulse_tick() has something to do, INT64_MAX for never. */
int64_t pulse_due(struct pulse *p);

#endif
