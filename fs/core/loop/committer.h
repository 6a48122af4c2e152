/* SPDX-License-Identifier: MIT */
/*
 * The one thread that writes the database. Whatever is queued while one fsync runs goes into the
 * next transaction together, each job in its own savepoint: a refused one is undone alone.
 */
#ifndef FENCE_CORE_LOOP_COMMITTER_H
#define FENCE_CORE_LOOP_COMMITTER_H

#include "base/lock.h"
#include "core/loop/job.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct metrics;
struct notifier;
struct store;

struct committer {
	struct store *store;	   /* borrowed, as are: */
	struct notifier *notifier; /* which gets what is durable */
	struct metrics *metrics;
	struct lock lock; /* guards the queue and stop */
	pthread_cond_t wake;
	struct job *head, **tail;
	bool stop;
	pthread_t thread;
	atomic_uint_fast64_t submitted; /* jobs, ever */
	atomic_bool checkpoint;		/* wanted after the next batch, however small the WAL */
};

int committer_start(struct committer *m, struct store *store, struct notifier *n,
		    struct metrics *metrics);
/* Runs what is queued, then ends. */
void committer_stop(struct committer *m);
/* Takes the job; its done() is called exactly once, always from another thread. */
void committer_submit(struct committer *m, struct job *j);
/* Have the WAL moved into the database as far as readers allow, soon. */
void committer_checkpoint(struct committer *m);

#endif
