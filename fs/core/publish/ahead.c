/* SPDX-License-Identifier: MIT */
/* See ahead.h. Layer: core, room publish. */
#include "core/publish/ahead.h"

#include "core/service/core_impl.h"

#include <stdlib.h>

#define INLINE_AT_ONCE (64 << 20) /* bytes in one transaction */

struct ahead {
	struct job job;
	struct sealed *from;
	size_t n;
	struct lock lock;
	pthread_cond_t cond;
	bool finished;
};

static int ahead_apply(struct job *j, struct db *db)
{
	struct ahead *a = (struct ahead *)(void *)j;
	int err = 0;

	for (size_t i = 0; i < a->n && !err; i++)
		err = sealed_record(db, &a->from[i]);
	return err;
}

static void ahead_done(struct job *j)
{
	struct ahead *a = (struct ahead *)(void *)j;

	lock_take(&a->lock);
	a->finished = true;
	pthread_cond_signal(&a->cond);
	lock_drop(&a->lock);
}

static const struct job_ops ahead_job = { .apply = ahead_apply, .done = ahead_done };

static int record_part(struct core *c, struct sealed *from, size_t n)
{
	/* Deferred: the commit that refers to it syncs it. */
	struct ahead a = { .job = { .ops = &ahead_job, .is_deferred = true, .is_internal = true },
			   .from = from,
			   .n = n };

	for (size_t i = 0; i < n; i++) {
		int err = from[i].data ? sealed_pin(c, &from[i]) : 0;

		if (err < 0)
			return err;
	}
	lock_init(&a.lock, LOCK_STEP);
	lock_cond_init(&a.cond);
	committer_submit(&c->committer, &a.job);
	lock_take(&a.lock);
	while (!a.finished)
		lock_wait(&a.lock, &a.cond);
	lock_drop(&a.lock);
	pthread_cond_destroy(&a.cond);
	lock_fini(&a.lock);
	for (size_t i = 0; i < n && !a.job.err; i++) {
		from[i].recorded = true;
		free(from[i].data);
		from[i].data = NULL;
	}
	return a.job.err;
}

int ahead_record(struct core *c, struct sealed_set *set)
{
	size_t bytes = 0, first = 0;
	int err = 0;

	for (size_t i = 0; i < set->n && !err; i++) {
		bytes += set->v[i].data ? (size_t)set->v[i].size : 0;
		if (bytes < INLINE_AT_ONCE)
			continue;
		err = record_part(c, &set->v[first], i + 1 - first);
		first = i + 1;
		bytes = 0;
	}
	return err;
}
