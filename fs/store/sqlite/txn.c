/* SPDX-License-Identifier: MIT */
/*
 * Transactions and savepoints. Layer: store.
 *
 * An error within a transaction (disk full, I/O error, no memory) can make SQLite roll all of it
 * back by itself. The driver notes that in db->lost, so that what follows fails instead of running
 * outside of any transaction.
 */
#include "store/sqlite/txn.h"
#include "store/sqlite/db_conn.h"

#include <assert.h>
#include <errno.h>

static int run(struct db *db, const char *sql)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, sql, &st);

	return err ? err : stmt_run(st);
}

static int run_within(struct db *db, const char *sql)
{
	assert(db->in_txn);
	return db->lost ? db->lost : run(db, sql);
}

/*
 * In WAL mode NORMAL leaves out the fsync of the WAL at each COMMIT and nothing else; before a
 * checkpoint it is still synced. See https://www.sqlite.org/pragma.html#pragma_synchronous. Not a
 * prepared statement: the pragma acts when it is parsed.
 */
int txn_set_sync(struct db *db, bool sync)
{
	int err;

	assert(!db->in_txn && !db->read_depth);
	if (sync != db->is_unsynced || db->never_syncs)
		return 0;
	err = db_exec(db, sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
	if (!err)
		db->is_unsynced = !sync;
	return err;
}

int txn_begin(struct db *db)
{
	int err;

	assert(!db->in_txn && !db->read_depth);
	err = run(db, "BEGIN IMMEDIATE");
	if (err)
		return err;
	db->in_txn = true;
	db->lost = 0;
	return 0;
}

int txn_commit(struct db *db)
{
	int err;

	db->committing = true;
	err = run_within(db, "COMMIT");
	db->committing = false;
	if (err) {
		txn_rollback(db);
		return err;
	}
	db->in_txn = false;
	return 0;
}

void txn_rollback(struct db *db)
{
	assert(db->in_txn);
	/* A rollback that fails leaves SQLite's own state to say no to the next BEGIN. */
	if (!sqlite3_get_autocommit(db->sq))
		(void)run(db, "ROLLBACK");
	db->in_txn = false;
	db->lost = 0;
}

bool txn_is_active(const struct db *db)
{
	return db->in_txn && !db->lost;
}

int txn_savepoint(struct db *db)
{
	return run_within(db, "SAVEPOINT request");
}

int txn_release(struct db *db)
{
	return run_within(db, "RELEASE request");
}

int txn_rollback_to(struct db *db)
{
	int err = run_within(db, "ROLLBACK TO request");

	return err ? err : run_within(db, "RELEASE request");
}

int txn_read_begin(struct db *db)
{
	if (!db->in_txn && db->read_depth == 0) {
		int err = run(db, "BEGIN");

		if (err)
			return err;
	}
	db->read_depth++;
	return 0;
}

void txn_read_end(struct db *db)
{
	assert(db->read_depth > 0);
	db->read_depth--;
	/*
	 * Ending a transaction that only read cannot fail in a way that matters: it drops a lock.
	 * A page that could not be read has ended it already.
	 */
	if (!db->in_txn && db->read_depth == 0 && !sqlite3_get_autocommit(db->sq))
		(void)run(db, "COMMIT");
}
