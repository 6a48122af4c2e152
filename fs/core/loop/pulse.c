/* SPDX-License-Identifier: MIT */
/*
 * See pulse.h. Layer: core, room loop. The token goes from the housekeeper to the committer, as a
 * job that writes nothing, and on to the notifier, as every job does. There is one token: while one
 * of these stands still none arrives, however often it is asked for.
 *
 * A transaction of a million files may take longer than a watchdog waits. So a token that is late
 * counts as arrived as long as the writer computes; while it waits for the disk, it does not.
 */
#include "core/loop/pulse.h"

#include "base/io.h"
#include "store/sqlite/db.h"
#include "store/store.h"

#include <stddef.h>

static struct pulse *pulse_of(struct job *j)
{
	return (struct pulse *)(void *)((char *)j - offsetof(struct pulse, job));
}

static int nothing_apply(struct job *j, struct db *db)
{
	(void)j;
	(void)db;
	return 0;
}

/* Notifier. Also when the store is broken: it can be read all the same. */
static void token_done(struct job *j)
{
	struct pulse *p = pulse_of(j);

	atomic_store(&p->under_way, false);
	p->to.beat(p->to.arg);
}

static const struct job_ops token = { .apply = nothing_apply, .done = token_done };

void pulse_init(struct pulse *p, struct committer *m, struct store *store)
{
	p->committer = m;
	p->store = store;
	p->job.ops = &token;
}

void pulse_start(struct pulse *p, const struct core_pulse *to)
{
	p->to = *to;
	atomic_store(&p->started, true);
}

void pulse_tick(struct pulse *p)
{
	uint64_t work;

	if (!atomic_load(&p->started) || io_boot_ns() < p->due)
		return;
	p->due = io_boot_ns() + p->to.every_ns;
	work = db_work(store_writer(p->store));
	if (!atomic_exchange(&p->under_way, true))
		committer_submit(p->committer, &p->job);
	else if (work != p->work)
		p->to.beat(p->to.arg);
	p->work = work;
}

int64_t pulse_due(struct pulse *p)
{
	return atomic_load(&p->started) ? p->due : INT64_MAX;
}
