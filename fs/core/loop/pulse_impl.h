/* SPDX-License-Identifier: MIT */
/* The state of the pulse, for this layer only. */
#ifndef FENCE_CORE_LOOP_PULSE_IMPL_H
#define FENCE_CORE_LOOP_PULSE_IMPL_H

#include "core/loop/committer.h"
#include "core/loop/pulse.h"

#include <stdatomic.h>

struct pulse_clock {
	struct core_pulse to; /* set before `started` */
	atomic_bool started;
	atomic_bool under_way; /* the token is out */
	struct job job;	       /* the token; the committer's while it is out */
	int64_t due;	       /* CLOCK_BOOTTIME; the housekeeper's, as is `work` */
	uint64_t work;	       /* of the writer, when it was last looked at */
};

/* From the housekeeper. */
void pulse_tick(struct core *c);
/* When pulse_tick() has something to do, INT64_MAX for never. */
int64_t pulse_due(struct core *c);

#endif
