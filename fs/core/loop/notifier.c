/* SPDX-License-Identifier: MIT */
/*
 * See notifier.h. Core layer.
 *
 * How a durable commit becomes visible, whole (P3): the kernel caches names and attributes without
 * limit, in every view. Were names dropped one by one after live_rev moved, a reader could open one
 * file of a commit in its new version and then, from the cache, another in its old one. So:
 *   1. window = 1: from now on no reply may be cached.
 *   2. The kernel drops every changed name. Each drop takes the parent directory's lock, so it
 *      waits for lookups that run there and whose replies may still say "cacheable". Now no changed
 *      name is cached anywhere; each use asks us, and we answer the old revision.
 *   3. live_rev moves: one store, and every lookup from here on is answered with all of the commit.
 *   4. Attributes of the changed directories are dropped (their mtime moved); window = 0.
 *   5. The requests are answered: every later open sees it.
 * Revisions are published in their order because there is one notifier and its queue is first in,
 * first out.
 */
#include "core/loop/notifier.h"

#include "core/loop/committer.h"
#include "core/loop/live.h"

#include <stdlib.h>

static void publish(struct notifier *n, struct job *jobs)
{
	int64_t rev = 0;
	bool moved = false;

	for (struct job *j = jobs; j; j = j->next) {
		if (j->err || !j->revision)
			continue;
		if (j->revision > rev)
			rev = j->revision;
		moved = moved || j->moved_dirs;
	}
	if (rev > atomic_load(&n->live->rev)) {
		atomic_store(&n->live->window, 1);
		for (struct job *j = jobs; j; j = j->next)
			if (!j->err && j->revision && j->ops->drop)
				j->ops->drop(j);
		if (moved)
			atomic_fetch_add(&n->live->dir_moves, 1);
		atomic_store(&n->live->rev, rev);
		for (struct job *j = jobs; j; j = j->next)
			if (!j->err && j->revision && j->ops->visible)
				j->ops->visible(j);
		atomic_store(&n->live->window, 0);
	}
	while (jobs) {
		struct job *j = jobs;

		jobs = j->next;
		j->ops->done(j);
	}
	notifier_idle(n);
}

void notifier_idle(struct notifier *n)
{
	n->idle(n->idle_arg);
}

static struct batch *notifier_next(struct notifier *n)
{
	struct batch *b;

	lock_take(&n->lock);
	while (!n->head && !n->stop)
		lock_wait(&n->lock, &n->wake);
	b = n->head;
	if (b) {
		n->head = b->next;
		if (!n->head)
			n->tail = &n->head;
	}
	lock_drop(&n->lock);
	return b;
}

static void *notifier_main(void *arg)
{
	struct notifier *n = arg;
	struct batch *b;

	pthread_setname_np(pthread_self(), "notifier");
	while ((b = notifier_next(n))) {
		if (b->call)
			b->call(b->arg);
		else
			publish(n, b->jobs);
		free(b);
	}
	return NULL;
}

int notifier_start(struct notifier *n, struct live *live, void (*idle)(void *arg), void *arg)
{
	n->live = live;
	n->idle = idle;
	n->idle_arg = arg;
	lock_init(&n->lock, LOCK_QUEUE);
	lock_cond_init(&n->wake);
	n->tail = &n->head;
	return -pthread_create(&n->thread, NULL, notifier_main, n);
}

void notifier_stop(struct notifier *n)
{
	lock_take(&n->lock);
	n->stop = true;
	pthread_cond_signal(&n->wake);
	lock_drop(&n->lock);
	pthread_join(n->thread, NULL);
	pthread_cond_destroy(&n->wake);
	lock_fini(&n->lock);
}

/*
 * A batch is a few words; when even that is not to be had the daemon cannot go on without lying
 * about what is visible.
 */
static void enqueue(struct notifier *n, struct batch fill)
{
	struct batch *b = malloc(sizeof(*b));

	if (!b)
		abort();
	*b = fill;
	b->next = NULL;
	lock_take(&n->lock);
	*n->tail = b;
	n->tail = &b->next;
	pthread_cond_signal(&n->wake);
	lock_drop(&n->lock);
}

void notifier_publish(struct notifier *n, struct job *jobs)
{
	enqueue(n, (struct batch){ .jobs = jobs });
}

void notifier_call(struct notifier *n, void (*call)(void *arg), void *arg)
{
	enqueue(n, (struct batch){ .call = call, .arg = arg });
}
