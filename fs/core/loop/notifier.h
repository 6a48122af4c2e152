/* SPDX-License-Identifier: MIT */
/* The thread that makes durable revisions visible, in order, and then has them answered. */
#ifndef FENCE_CORE_LOOP_NOTIFIER_H
#define FENCE_CORE_LOOP_NOTIFIER_H

#include "base/lock.h"

#include <stdbool.h>

struct job;
struct live;

struct batch {
	struct batch *next;
	struct job *jobs; /* owned list; NULL for a call */
	void (*call)(void *arg);
	void *arg;
};

struct notifier {
	struct live *live;	 /* borrowed; written by this thread only */
	void (*idle)(void *arg); /* after each batch, from its thread or the committer's */
	void *idle_arg;
	struct lock lock;
	pthread_cond_t wake;
	struct batch *head, **tail;
	bool stop;
	pthread_t thread;
};

int notifier_start(struct notifier *n, struct live *live, void (*idle)(void *arg), void *arg);
void notifier_stop(struct notifier *n);
/* A durable transaction's jobs; takes the list. */
void notifier_publish(struct notifier *n, struct job *jobs);
void notifier_idle(struct notifier *n);
/* Run @call on the notifier's thread (kernel notifications that belong to no commit). */
void notifier_call(struct notifier *n, void (*call)(void *arg), void *arg);

#endif
