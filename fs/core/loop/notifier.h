/* SPDX-License-Identifier: MIT */
/* The thread that makes durable revisions visible, in order, and then has them answered. */
#ifndef FENCE_CORE_LOOP_NOTIFIER_H
#define FENCE_CORE_LOOP_NOTIFIER_H

#include "base/lock.h"

#include <stdbool.h>

struct core;
struct job;

struct batch {
	struct batch *next;
	struct job *jobs; /* owned list; NULL for a call */
	void (*call)(struct core *c, void *arg);
	void *arg;
};

struct notifier {
	struct lock lock;
	pthread_cond_t wake;
	struct batch *head, **tail;
	bool stop;
	pthread_t thread;
};

int notifier_start(struct core *c);
void notifier_stop(struct core *c);
/* A durable transaction's jobs; takes the list. */
void notifier_publish(struct core *c, struct job *jobs);
/* Run @call on the notifier's thread (kernel notifications that belong to no commit). */
void notifier_call(struct core *c, void (*call)(struct core *c, void *arg), void *arg);

#endif
