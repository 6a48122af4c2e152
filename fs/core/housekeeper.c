/* SPDX-License-Identifier: MIT */
/*
 * See housekeeper.h. Core layer. A session opened with keep=1 ends when nothing has used it for its
 * ttl, judged by CLOCK_BOOTTIME: steps of the wall clock change nothing, and a suspended machine
 * counts.
 */
#include "core/housekeeper.h"

#include "base/io.h"
#include "base/log.h"
#include "core/publish/commit.h"
#include "core/lease/lease_table.h"
#include "core/session/session_impl.h"
#include "core/upkeep/generation_job.h"

#include <errno.h>
#include <stdlib.h>

#define TICK_NS INT64_C(250000000)
#define AT_ONCE 64

struct housekeeper {
	struct core *c;
	pthread_t thread;
	struct lock lock; /* guards stop, with its condition */
	pthread_cond_t wake;
	bool stop;
	struct generation_clock generation; /* its own */
};

struct expired {
	struct session *v[AT_ONCE];
	int n;
	int64_t now;
};

static void collect_one(struct session *s, void *arg)
{
	struct expired *e = arg;

	if (!s->keep || e->n == AT_ONCE || e->now - atomic_load(&s->last_used) < s->ttl)
		return;
	view_get(&s->view);
	e->v[e->n++] = s;
}

static void expire(struct core *c)
{
	struct expired e = { .now = io_boot_ns() };

	session_table_each(c, collect_one, &e);
	for (int i = 0; i < e.n; i++) {
		if (commit_abort(c, e.v[i], NULL, NULL) == 0)
			log_info("session %s on %s ended: it was unused for its ttl", e.v[i]->id,
				 e.v[i]->path);
		session_put(e.v[i]);
	}
}

/* When to look again: at least every TICK_NS, since new leases do not wake this thread. */
static int64_t next_tick(struct core *c)
{
	int64_t due = lease_tick(c);

	if (pulse_due(&c->pulse) < due)
		due = pulse_due(&c->pulse);
	due -= io_boot_ns();
	if (due > TICK_NS)
		return TICK_NS;
	return due > 0 ? due : 0;
}

static long long monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void *housekeeper_main(void *arg)
{
	struct housekeeper *h = arg;
	int64_t wait = TICK_NS;

	pthread_setname_np(pthread_self(), "housekeeper");
	lock_take(&h->lock);
	while (!h->stop) {
		lock_wait_until(&h->lock, &h->wake, monotonic_ns() + wait);
		if (h->stop)
			break;
		lock_drop(&h->lock);
		expire(h->c);
		generation_tick(h->c, &h->generation);
		pulse_tick(&h->c->pulse);
		wait = next_tick(h->c);
		lock_take(&h->lock);
	}
	lock_drop(&h->lock);
	return NULL;
}

int housekeeper_start(struct core *c)
{
	struct housekeeper *h = calloc(1, sizeof(*h));
	int err;

	if (!h)
		return -ENOMEM;
	h->c = c;
	h->generation.due = io_boot_ns() + INT64_C(60000000000); /* it has just been raised */
	lock_init(&h->lock, LOCK_HOUSEKEEPER);
	lock_cond_init(&h->wake);
	err = pthread_create(&h->thread, NULL, housekeeper_main, h);
	if (err)
		free(h);
	else
		c->housekeeper = h;
	return -err;
}

void housekeeper_stop(struct core *c)
{
	struct housekeeper *h = c->housekeeper;

	if (!h)
		return;
	lock_take(&h->lock);
	h->stop = true;
	pthread_cond_signal(&h->wake);
	lock_drop(&h->lock);
	pthread_join(h->thread, NULL);
	pthread_cond_destroy(&h->wake);
	lock_fini(&h->lock);
	c->housekeeper = NULL;
	free(h);
}
