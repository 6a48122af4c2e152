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
#include "core/core_impl.h"

#include <stdlib.h>

static void publish(struct core *c, struct job *jobs)
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
	if (rev > atomic_load(&c->live_rev)) {
		atomic_store(&c->window, 1);
		for (struct job *j = jobs; j; j = j->next)
			if (!j->err && j->revision && j->ops->drop)
				j->ops->drop(c, j);
		if (moved)
			atomic_fetch_add(&c->dir_moves, 1);
		atomic_store(&c->live_rev, rev);
		for (struct job *j = jobs; j; j = j->next)
			if (!j->err && j->revision && j->ops->visible)
				j->ops->visible(c, j);
		atomic_store(&c->window, 0);
	}
	while (jobs) {
		struct job *j = jobs;

		jobs = j->next;
		j->ops->done(c, j);
	}
	events_kick(c);
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
	struct core *c = arg;
	struct batch *b;

	pthread_setname_np(pthread_self(), "notifier");
	while ((b = notifier_next(&c->notifier))) {
		if (b->call)
			b->call(c, b->arg);
		else
			publish(c, b->jobs);
		free(b);
	}
	return NULL;
}

int notifier_start(struct core *c)
{
	struct notifier *n = &c->notifier;

	lock_init(&n->lock, LOCK_QUEUE);
	lock_cond_init(&n->wake);
	n->tail = &n->head;
	return -pthread_create(&n->thread, NULL, notifier_main, c);
}

void notifier_stop(struct core *c)
{
	struct notifier *n = &c->notifier;

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
static void enqueue(struct core *c, struct batch fill)
{
	struct notifier *n = &c->notifier;
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

void notifier_publish(struct core *c, struct job *jobs)
{
	enqueue(c, (struct batch){ .jobs = jobs });
}

void notifier_call(struct core *c, void (*call)(struct core *c, void *arg), void *arg)
{
	enqueue(c, (struct batch){ .call = call, .arg = arg });
}
