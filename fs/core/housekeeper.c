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
#include "core/session/session_impl.h"

#include <errno.h>
#include <stdlib.h>

#define TICK_NS INT64_C(250000000)
#define AT_ONCE 64

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
			log_info("session %s on %s ended: unused for its ttl", e.v[i]->id,
				 e.v[i]->path);
		session_put(e.v[i]);
	}
}

/* When to look again: at least every TICK_NS, since new leases do not wake this thread. */
static int64_t next_tick(struct core *c)
{
	int64_t due = lease_tick(c);

	if (pulse_due(c) < due)
		due = pulse_due(c);
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
	struct core *c = arg;
	int64_t wait = TICK_NS;

	pthread_setname_np(pthread_self(), "housekeeper");
	lock_take(&c->housekeeper_lock);
	while (!c->housekeeper_stop) {
		lock_wait_until(&c->housekeeper_lock, &c->housekeeper_wake, monotonic_ns() + wait);
		if (c->housekeeper_stop)
			break;
		lock_drop(&c->housekeeper_lock);
		expire(c);
		generation_tick(c);
		pulse_tick(c);
		wait = next_tick(c);
		lock_take(&c->housekeeper_lock);
	}
	lock_drop(&c->housekeeper_lock);
	return NULL;
}

int housekeeper_start(struct core *c)
{
	int err;

	lock_init(&c->housekeeper_lock, LOCK_QUEUE);
	lock_cond_init(&c->housekeeper_wake);
	err = pthread_create(&c->housekeeper, NULL, housekeeper_main, c);
	c->housekeeper_runs = !err;
	return -err;
}

void housekeeper_stop(struct core *c)
{
	if (!c->housekeeper_runs)
		return;
	lock_take(&c->housekeeper_lock);
	c->housekeeper_stop = true;
	pthread_cond_signal(&c->housekeeper_wake);
	lock_drop(&c->housekeeper_lock);
	pthread_join(c->housekeeper, NULL);
	pthread_cond_destroy(&c->housekeeper_wake);
	lock_fini(&c->housekeeper_lock);
}
