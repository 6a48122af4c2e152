/* SPDX-License-Identifier: MIT */
/* Proof for a watchdog that the service can answer: a token that goes through all its threads. */
#ifndef FENCE_CORE_LOOP_PULSE_H
#define FENCE_CORE_LOOP_PULSE_H

#include <stdint.h>

struct core;

struct core_pulse {
	int64_t every_ns;
	/*
	 * From the notifier or the housekeeper: all threads of core have answered, or the committer
	 * is at work on something long.
	 */
	void (*beat)(void *arg);
	void *arg;
};

/* Once, when the mount answers. */
void core_pulse_start(struct core *c, const struct core_pulse *p);

#endif
