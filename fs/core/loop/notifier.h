/* SPDX-License-Identifier: MIT */
/*
 * The thread between what is durable and its answer: it has the effects of each transaction take
 * place, in their order, and then answers the jobs of it. So nobody is answered ahead of what was
 * durable before (P1, P3): a new owner who is told his token finds all that older tokens published.
 * Layer: core, room loop.
 */
#ifndef FENCE_CORE_LOOP_NOTIFIER_H
#define FENCE_CORE_LOOP_NOTIFIER_H

#include "base/lock.h"

#include <stdbool.h>

struct changed;
struct job;

struct batch;

struct notifier {
	/* All that follows from what a transaction changed: it returns when that is so. */
	void (*effects)(void *arg, const struct changed *rows);
	void *arg;
	struct lock lock; /* guards the queue and stop */
	pthread_cond_t wake;
	struct batch *head, **tail;
	bool stop;
	pthread_t thread;
};

int notifier_start(struct notifier *n, void (*effects)(void *arg, const struct changed *rows),
		   void *arg);
void notifier_stop(struct notifier *n);
/*
 * A transaction's jobs and what it changed; takes both. @rows NULL: it failed. Any thread, but in the
 * order of the transactions.
 */
void notifier_publish(struct notifier *n, struct job *jobs, struct changed *rows);
/* Run @call on the notifier's thread (kernel notifications that belong to no commit). */
void notifier_call(struct notifier *n, void (*call)(void *arg), void *arg);

#endif
