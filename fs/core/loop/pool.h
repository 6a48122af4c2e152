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

struct work {
	struct work *next;
	void (*run)(struct work *w); /* frees the work */
};

struct pool {
	struct lock lock; /* guards all below but the threads */
	pthread_cond_t wake;
	struct work *head, **tail;
	bool stop;
	int running;
	pthread_t threads[POOL_THREADS];
};

int pool_start(struct pool *p);
/* Finishes what is queued, then ends. */
void pool_stop(struct pool *p);
void pool_submit(struct pool *p, struct work *w);

#endif
