/* SPDX-License-Identifier: MIT */
/*
 * See pulse.h. Core layer. The token goes from the housekeeper to the committer, as a job that
 * writes nothing, and on to the notifier. There is one token: while one of these stands still none
 * arrives, however often it is asked for.
 *
 * A transaction of a million files may take longer than a watchdog waits. So a token that is late
 * counts as arrived as long as the writer computes; while it waits for the disk, it does not.
 */
#include "core/loop/pulse_impl.h"

#include "base/io.h"
#include "core/core_impl.h"
#include "store/sqlite/db.h"
#include "store/store.h"

static int nothing_apply(struct core *c, struct db *db, struct job *j)
{
	(void)c;
	(void)db;
	(void)j;
	return 0;
}

static void on_notifier(struct core *c, void *arg)
{
	(void)arg;
	atomic_store(&c->pulse.under_way, false);
	c->pulse.to.beat(c->pulse.to.arg);
}

/* Also when the store is broken: it can be read all the same. */
static void on_committer(struct core *c, struct job *j)
{
	(void)j;
	notifier_call(c, on_notifier, NULL);
}

static const struct job_ops token = { .apply = nothing_apply, .done = on_committer };

void core_pulse_start(struct core *c, const struct core_pulse *p)
{
	c->pulse.to = *p;
	c->pulse.job.ops = &token;
	atomic_store(&c->pulse.started, true);
}

void pulse_tick(struct core *c)
{
	struct pulse_clock *p = &c->pulse;
	uint64_t work;

	if (!atomic_load(&p->started) || io_boot_ns() < p->due)
		return;
	p->due = io_boot_ns() + p->to.every_ns;
	work = db_work(store_writer(c->store));
	if (!atomic_exchange(&p->under_way, true))
		committer_submit(c, &p->job);
	else if (work != p->work)
		p->to.beat(p->to.arg);
	p->work = work;
}

int64_t pulse_due(struct core *c)
{
	return atomic_load(&c->pulse.started) ? c->pulse.due : INT64_MAX;
}
