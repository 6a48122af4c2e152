/* SPDX-License-Identifier: MIT */
/*
 * A line on the terminal that says how far a long copy has come. Nothing where stderr is not a
 * terminal, or for short copies.
 */
#ifndef FENCE_TOOLS_OUT_PROGRESS_H
#define FENCE_TOOLS_OUT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *name; /* borrowed */
	uint64_t total;	  /* bytes; 0: unknown */
	uint64_t done;
	int64_t started, shown; /* CLOCK_BOOTTIME, ns; shown 0: not yet */
	bool is_terminal;
};

void progress_init(struct progress *p, const char *name, uint64_t total);
void progress_add(struct progress *p, uint64_t bytes);
/* Take the line away again. */
void progress_fini(struct progress *p);

#define auto_progress __attribute__((cleanup(progress_fini)))

#endif
