/* SPDX-License-Identifier: MIT */
/* See notifier.h. Layer: core, room loop. */
#include "core/loop/notifier.h"

#include "core/loop/job.h"
#include "store/sqlite/changed.h"

#include <stdlib.h>

struct batch {
	struct batch *next;
	struct job *jobs;	 /* owned list */
	struct changed *rows;	 /* owned; NULL: nothing was changed */
	void (*call)(void *arg); /* instead of both */
	void *arg;
};

static void publish(struct notifier *n, struct batch *b)
{
	if (b->rows && changed_count(b->rows))
		n->effects(n->arg, b->rows);
	while (b->jobs) {
		struct job *j = b->jobs;

		b->jobs = j->next;
		j->ops->done(j);
	}
	changed_free(b->rows);
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
			publish(n, b);
		free(b);
	}
	return NULL;
}

int notifier_start(struct notifier *n, void (*effects)(void *arg, const struct changed *rows),
		   void *arg)
{
	n->effects = effects;
	n->arg = arg;
	lock_init(&n->lock, LOCK_NOTIFIER);
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

void notifier_publish(struct notifier *n, struct job *jobs, struct changed *rows)
{
	enqueue(n, (struct batch){ .jobs = jobs, .rows = rows });
}

void notifier_call(struct notifier *n, void (*call)(void *arg), void *arg)
{
	enqueue(n, (struct batch){ .call = call, .arg = arg });
}
