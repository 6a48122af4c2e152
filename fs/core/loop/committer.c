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
 *   - A COMMIT that fails for anything but a full disk leaves the outcome unknown: jobs get
 *     EREMOTEIO, the store turns sticky read-only, and nothing that a job sealed is deleted.
 */
#include "core/loop/committer.h"

#include "base/errname.h"
#include "base/io.h"
#include "base/log.h"
#include "core/loop/notifier.h"
#include "core/meter/metrics_impl.h"
#include "store/store.h"
#include "store/sqlite/txn.h"

#include <errno.h>
#include <stdlib.h>

/* The transaction itself is gone, not only this job's part of it. */
static bool is_fatal(struct db *db, int err)
{
	return err < 0 && !txn_is_active(db);
}

static int record_undone(struct db *db, struct job *j)
{
	int err;

	if (!j->ops->record)
		return 0;
	err = txn_savepoint(db);
	if (err < 0)
		return err;
	err = j->ops->record(j, db);
	if (err < 0) {
		if (is_fatal(db, err))
			return err;
		log_warning("cannot record a refusal: %s", errname(err));
		return txn_rollback_to(db);
	}
	return txn_release(db);
}

/* 0, or the error that ended the whole transaction. */
static int apply_one(struct db *db, struct job *j)
{
	int err = txn_savepoint(db);

	if (err < 0)
		return err;
	j->revision = 0;
	j->moved_dirs = false;
	j->needs_sync = false;
	j->err = j->ops->apply(j, db);
	if (!j->err)
		return txn_release(db);
	if (is_fatal(db, j->err))
		return j->err;
	j->revision = 0;
	err = txn_rollback_to(db);
	if (!err)
		err = record_undone(db, j);
	return err;
}

static bool are_deferred(const struct job *jobs)
{
	while (jobs && jobs->is_deferred)
		jobs = jobs->next;
	return !jobs;
}

static bool need_sync(const struct job *jobs)
{
	while (jobs && !jobs->err && !jobs->needs_sync)
		jobs = jobs->next;
	return jobs != NULL;
}

static int apply_all(struct db *db, struct job *jobs, bool sync)
{
	int err = txn_set_sync(db, sync);

	if (err < 0)
		return err;
	err = txn_begin(db);
	if (err < 0)
		return err;
	for (struct job *j = jobs; j && !err; j = j->next)
		err = apply_one(db, j);
	if (err < 0)
		txn_rollback(db);
	return err;
}

/*
 * All of them, in a transaction that is still open. How it is to reach the disk must be said before
 * it begins.
 */
static int apply_deferred(struct db *db, struct job *jobs)
{
	int err = apply_all(db, jobs, false);

	if (err < 0 || !need_sync(jobs))
		return err;
	txn_rollback(db);
	return apply_all(db, jobs, true);
}

static int transact(struct committer *m, struct job *jobs)
{
	struct db *db = store_writer(m->store);
	int err = are_deferred(jobs) ? apply_deferred(db, jobs) : apply_all(db, jobs, true);

	if (err < 0)
		return err;
	err = txn_commit(db);
	if (err < 0 && err != -ENOSPC && err != -EDQUOT) {
		log_error(
			"commit of the database failed (%s): its outcome is unknown, the store is read-only until it is mounted again",
			errname(err));
		store_set_broken(m->store);
		return -EREMOTEIO;
	}
	return err;
}

static int run_transaction(struct committer *m, struct job *jobs)
{
	int64_t begin = io_boot_ns();
	uint64_t n = 0;
	int err;

	if (store_is_broken(m->store))
		return -EIO;
	for (const struct job *j = jobs; j; j = j->next)
		n++;
	err = transact(m, jobs);
	metric_add(&m->metrics->jobs, n);
	histogram_add(&m->metrics->transact_time, io_boot_ns() - begin);
	store_count_writer(m->store);
	return err;
}

static void finish(struct committer *m, struct job *jobs)
{
	bool published = false;

	for (struct job *j = jobs; j; j = j->next) {
		if (j->ops->durable)
			j->ops->durable(j);
		published = published || (!j->err && j->revision);
	}
	if (published) {
		notifier_publish(m->notifier, jobs);
		return;
	}
	while (jobs) {
		struct job *j = jobs;

		jobs = j->next;
		j->ops->done(j);
	}
	notifier_idle(m->notifier);
}

static void fail_one(struct job *j, int err)
{
	j->err = err;
	j->revision = 0;
	j->ops->done(j);
}

/*
 * A full disk ends the whole transaction: each job again alone, so that the small ones still get
 * through.
 */
static void run_singly(struct committer *m, struct job *jobs)
{
	while (jobs) {
		struct job *j = jobs;
		int err;

		jobs = j->next;
		j->next = NULL;
		err = run_transaction(m, j);
		if (err < 0)
			fail_one(j, err);
		else
			finish(m, j);
	}
}

static void run_batch(struct committer *m, struct job *jobs)
{
	int err = run_transaction(m, jobs);

	if (!err) {
		finish(m, jobs);
	} else if (err == -EREMOTEIO || store_is_broken(m->store)) {
		while (jobs) {
			struct job *j = jobs;

			jobs = j->next;
			fail_one(j, err);
		}
	} else {
		run_singly(m, jobs);
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
	lock_init(&m->lock, LOCK_QUEUE);
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
	committer_submit(m, j);
}
