/* SPDX-License-Identifier: MIT */
/* See pool.h. Core layer. */
#include "core/loop/pool.h"

#include <stddef.h>

static struct work *pool_next(struct pool *p)
{
	struct work *w;

	lock_take(&p->lock);
	while (!p->head && !p->stop)
		lock_wait(&p->lock, &p->wake);
	w = p->head;
	if (w) {
		p->head = w->next;
		if (!p->head)
			p->tail = &p->head;
	}
	lock_drop(&p->lock);
	return w;
}

static void *pool_main(void *arg)
{
	struct pool *p = arg;
	struct work *w;

	pthread_setname_np(pthread_self(), "pool");
	while ((w = pool_next(p)))
		w->run(w);
	return NULL;
}

int pool_start(struct pool *p)
{
	lock_init(&p->lock, LOCK_POOL);
	lock_cond_init(&p->wake);
	p->tail = &p->head;
	while (p->running < POOL_THREADS) {
		int err = pthread_create(&p->threads[p->running], NULL, pool_main, p);

		if (err)
			return p->running ? 0 : -err;
		p->running++;
	}
	return 0;
}

void pool_stop(struct pool *p)
{
	lock_take(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->wake);
	lock_drop(&p->lock);
	while (p->running)
		pthread_join(p->threads[--p->running], NULL);
	pthread_cond_destroy(&p->wake);
	lock_fini(&p->lock);
}

void pool_submit(struct pool *p, struct work *w)
{
	w->next = NULL;
	lock_take(&p->lock);
	*p->tail = w;
	p->tail = &w->next;
	pthread_cond_signal(&p->wake);
	lock_drop(&p->lock);
}
