/* SPDX-License-Identifier: MIT */
/*
 * Threads for work that reads and writes file content: sealing, copying before a first write,
 * removing staged files. Neither a request handler (with io_uring there is one a core) nor the
 * committer may be held up by a gigabyte.
 */
#ifndef FENCE_CORE_LOOP_POOL_H
#define FENCE_CORE_LOOP_POOL_H

#include "base/lock.h"

#include <stdbool.h>

#define POOL_THREADS 4

struct core;

struct work {
	struct work *next;
	void (*run)(struct core *c, struct work *w); /* frees the work */
};

struct pool {
	struct lock lock;
	pthread_cond_t wake;
	struct work *head, **tail;
	bool stop;
	int running;
	pthread_t threads[POOL_THREADS];
};

int pool_start(struct core *c);
/* Finishes what is queued, then ends. */
void pool_stop(struct core *c);
void pool_submit(struct core *c, struct work *w);

#endif
