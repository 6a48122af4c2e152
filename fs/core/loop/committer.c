/* SPDX-License-Identifier: MIT */
/*
 * See committer.h. Core layer.
 *
 * Invariants:
 *   - Only this thread uses store_writer(), so every check in a job and the change it guards are
 *     one step against all others (P1).
 *   - Nothing is answered before the COMMIT that holds it has returned (P2), and a COMMIT returns
 *     only when it is on the disk, but for jobs that all are deferred. A deferred job that was
 *     refused is not: the record of it is kept (P9).
 *   - Every job that somebody waits for goes on to the notifier, in the order of the transactions,
 *     whether it changed anything or not, was done, refused or has failed: an answer tells of the
 *     state that it was judged by, so that state has to be visible first.
 *   - A COMMIT that fails for anything but a full disk leaves the outcome unknown: jobs get
 *     EREMOTEIO, the store turns sticky read-only, and nothing that a job sealed is deleted.
 */
#include "core/loop/committer.h"

#include "base/io.h"
#include "core/loop/notifier.h"
#include "core/loop/transaction.h"
#include "core/meter/metrics_impl.h"
#include "store/store.h"
#include "store/sqlite/changed.h"

#include <errno.h>
#include <stdlib.h>

static int run_transaction(struct committer *m, struct job *jobs, struct changed *rows)
{
	int64_t begin = io_boot_ns();
	uint64_t n = 0;
	int err;

	if (store_is_broken(m->store))
		return -EIO;
	for (const struct job *j = jobs; j; j = j->next)
		n++;
	err = transaction_run(m->store, jobs, rows);
	metric_add(&m->metrics->jobs, n);
	histogram_add(&m->metrics->transact_time, io_boot_ns() - begin);
	store_count_writer(m->store);
	return err;
}

/* Takes those that nobody outside waits for out of the list, and ends them. */
static struct job *end_internal(struct job *jobs)
{
	struct job *rest = NULL, **last = &rest;

	while (jobs) {
		struct job *j = jobs;

		jobs = j->next;
		j->next = NULL;
		if (j->is_internal) {
			j->ops->done(j);
			continue;
		}
		*last = j;
		last = &j->next;
	}
	return rest;
}

/* Takes the jobs and the rows. */
static void finish(struct committer *m, struct job *jobs, struct changed *rows)
{
	for (struct job *j = jobs; j; j = j->next)
		if (j->ops->durable)
			j->ops->durable(j);
	notifier_publish(m->notifier, end_internal(jobs), rows);
}

/* Failures, too, are answered behind what was durable before them. */
static void fail(struct committer *m, struct job *jobs, struct changed *rows, int err)
{
	for (struct job *j = jobs; j; j = j->next)
		j->err = err;
	changed_free(rows);
	notifier_publish(m->notifier, end_internal(jobs), NULL);
}

static bool may_succeed_alone(struct committer *m, const struct job *jobs, int err)
{
	return jobs->next && err != -EREMOTEIO && !store_is_broken(m->store);
}

/*
 * A full disk ends the whole transaction: each job again alone, so that the small ones still get
 * through.
 */
static void run_batch(struct committer *m, struct job *jobs)
{
	struct changed *rows = changed_new();
	int err = rows ? run_transaction(m, jobs, rows) : -ENOMEM;

	if (!err) {
		finish(m, jobs, rows);
		return;
	}
	if (!may_succeed_alone(m, jobs, err)) {
		fail(m, jobs, rows, err);
		return;
	}
	changed_free(rows);
	while (jobs) {
		struct job *j = jobs;

		jobs = j->next;
		j->next = NULL;
		run_batch(m, j);
	}
}

static struct job *committer_next(struct committer *m)
{
	struct job *jobs;

	lock_take(&m->lock);
	while (!m->head && !m->stop)
		lock_wait(&m->lock, &m->wake);
	jobs = m->head;
	m->head = NULL;
	m->tail = &m->head;
	lock_drop(&m->lock);
	return jobs;
}

static void *committer_main(void *arg)
{
	struct committer *m = arg;
	struct job *jobs;

	pthread_setname_np(pthread_self(), "committer");
	while ((jobs = committer_next(m))) {
		run_batch(m, jobs);
		if (store_is_broken(m->store))
			continue;
		if (atomic_exchange(&m->checkpoint, false))
			store_checkpoint_passive(m->store);
		else
			store_checkpoint(m->store, false);
	}
	return NULL;
}

int committer_start(struct committer *m, struct store *store, struct notifier *n,
		    struct metrics *metrics)
{
	m->store = store;
	m->notifier = n;
	m->metrics = metrics;
	lock_init(&m->lock, LOCK_COMMITTER);
	lock_cond_init(&m->wake);
	m->tail = &m->head;
	return -pthread_create(&m->thread, NULL, committer_main, m);
}

void committer_stop(struct committer *m)
{
	lock_take(&m->lock);
	m->stop = true;
	pthread_cond_signal(&m->wake);
	lock_drop(&m->lock);
	pthread_join(m->thread, NULL);
	pthread_cond_destroy(&m->wake);
	lock_fini(&m->lock);
}

void committer_submit(struct committer *m, struct job *j)
{
	j->next = NULL;
	atomic_fetch_add(&m->submitted, 1);
	lock_take(&m->lock);
	*m->tail = j;
	m->tail = &j->next;
	pthread_cond_signal(&m->wake);
	lock_drop(&m->lock);
}

static int nothing_apply(struct job *j, struct db *db)
{
	(void)db;
	(void)j;
	return 0;
}

static void nothing_done(struct job *j)
{
	free(j);
}

static const struct job_ops nothing = { .apply = nothing_apply, .done = nothing_done };

/* A checkpoint is no part of a transaction: it follows an empty one. */
void committer_checkpoint(struct committer *m)
{
	struct job *j = calloc(1, sizeof(*j));

	atomic_store(&m->checkpoint, true);
	if (!j)
		return;
	j->ops = &nothing;
	j->is_internal = true;
	committer_submit(m, j);
}
