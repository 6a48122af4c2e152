/* SPDX-License-Identifier: MIT */
/*
 * See transaction.h. Layer: core, room loop.
 *
 * What a job changed is taken back from the list of rows together with its savepoint, so that the
 * list says what is in the transaction, and nothing else.
 */
#include "core/loop/transaction.h"

#include "wire/errname.h"
#include "base/log.h"
#include "core/loop/job.h"
#include "store/sqlite/changed.h"
#include "store/sqlite/txn.h"
#include "store/store.h"

#include <errno.h>

/* The transaction itself is gone, not only this job's part of it. */
static bool is_fatal(struct db *db, int err)
{
	return err < 0 && !txn_is_active(db);
}

static int record_undone(struct db *db, struct job *j, struct changed *rows)
{
	size_t mark = changed_count(rows);
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
		changed_back_to(rows, mark);
		return txn_rollback_to(db);
	}
	return txn_release(db);
}

/* 0, or the error that ended the whole transaction. */
static int apply_one(struct db *db, struct job *j, struct changed *rows)
{
	size_t mark = changed_count(rows);
	int err = txn_savepoint(db);

	if (err < 0)
		return err;
	j->needs_sync = false;
	j->err = j->ops->apply(j, db);
	if (!j->err)
		return txn_release(db);
	if (is_fatal(db, j->err))
		return j->err;
	changed_back_to(rows, mark);
	err = txn_rollback_to(db);
	if (!err)
		err = record_undone(db, j, rows);
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

static int apply_all(struct db *db, struct job *jobs, bool sync, struct changed *rows)
{
	int err = txn_set_sync(db, sync);

	changed_back_to(rows, 0);
	if (err < 0)
		return err;
	err = txn_begin(db);
	if (err < 0)
		return err;
	for (struct job *j = jobs; j && !err; j = j->next)
		err = apply_one(db, j, rows);
	if (err < 0)
		txn_rollback(db);
	return err;
}

/*
 * All of them, in a transaction that is still open. How it is to reach the disk must be said before
 * it begins.
 */
static int apply_deferred(struct db *db, struct job *jobs, struct changed *rows)
{
	int err = apply_all(db, jobs, false, rows);

	if (err < 0 || !need_sync(jobs))
		return err;
	txn_rollback(db);
	return apply_all(db, jobs, true, rows);
}

static int stop_watching(struct db *db, int err)
{
	db_watch(db, NULL);
	return err;
}

int transaction_run(struct store *store, struct job *jobs, struct changed *rows)
{
	struct db *db = store_writer(store);
	int err;

	db_watch(db, rows);
	err = are_deferred(jobs) ? apply_deferred(db, jobs, rows) : apply_all(db, jobs, true, rows);
	if (err < 0)
		return stop_watching(db, err);
	err = txn_commit(db);
	if (err < 0 && err != -ENOSPC && err != -EDQUOT) {
		log_error("a commit of the database failed (%s): its outcome is unknown, and the "
			  "store is read-only until it is mounted again",
			  errname(err));
		store_set_broken(store);
		err = -EREMOTEIO;
	}
	return stop_watching(db, err);
}
