/* SPDX-License-Identifier: MIT */
/*
 * How many requests that write were accepted and are not yet answered, and whether any more are.
 * Layer: core, room loop.
 */
#ifndef FENCE_CORE_LOOP_BUSY_H
#define FENCE_CORE_LOOP_BUSY_H

#include "base/lock.h"

#include <stdbool.h>

struct busy {
	struct lock lock; /* guards all below */
	pthread_cond_t none;
	int count;	  /* accepted and not yet answered */
	bool closing;	  /* no more are accepted */
	bool ending;	  /* but by `closer`, which ends what is open */
	pthread_t closer; /* while ending */
};

void busy_init(struct busy *b);
void busy_fini(struct busy *b);
/* Around each accepted request that writes. -ESHUTDOWN: no more are accepted. */
int busy_begin(struct busy *b);
void busy_end(struct busy *b);
/* True: it was closed before. */
bool busy_close(struct busy *b);
bool busy_is_closing(struct busy *b);
/* While @ending the calling thread, and it alone, may begin something still. */
void busy_set_ending(struct busy *b, bool ending);
void busy_wait_none(struct busy *b);
int busy_count(struct busy *b);

#endif
