/* SPDX-License-Identifier: MIT */
/*
 * A copy of the whole database by SQLite's online backup, from one snapshot. Layer: store.
 *
 * The copy is taken within a read transaction of @from, so commits that go on meanwhile neither
 * show in it nor make it begin again. It is left in a rollback-journal mode: one file, which can be
 * opened where nothing may be written.
 */
#include "store/sqlite/db_conn.h"
#include "store/sqlite/page_sum.h"
#include "store/sqlite/txn.h"

#include <errno.h>

#define PAGES_A_STEP 1024

static void close_copy(sqlite3 **sq)
{
	sqlite3_close(*sq);
}

static int step_all(sqlite3_backup *b, db_backup_fn tick, void *arg)
{
	int code;

	do {
		int res;

		code = sqlite3_backup_step(b, PAGES_A_STEP);
		res = tick ? tick(arg, sqlite3_backup_pagecount(b) - sqlite3_backup_remaining(b),
				  sqlite3_backup_pagecount(b)) :
			     0;
		if (res)
			return res;
	} while (code == SQLITE_OK);
	return code == SQLITE_DONE ? 0 : code;
}

/* SQLite's code, or what @tick returned. */
static int copy(struct db *from, sqlite3 *to, db_backup_fn tick, void *arg)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from->sq, "main");
	int res, code;

	if (!b)
		return sqlite3_errcode(to);
	res = step_all(b, tick, arg);
	code = sqlite3_backup_finish(b);
	return res ? res : code;
}

static int set_up(const char *path, sqlite3 **out)
{
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_READWRITE;
	int code = sqlite3_open_v2(path, out, flags, page_sum_vfs());

	if (code == SQLITE_OK)
		code = sqlite3_exec(*out, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF",
				    NULL, NULL, NULL);
	return code;
}

static int copy_to(struct db *from, const char *path, db_backup_fn tick, void *arg)
{
	__attribute__((cleanup(close_copy))) sqlite3 *to = NULL;
	int res = set_up(path, &to);

	if (res)
		return res;
	page_sum_as(to, from->sq);
	return copy(from, to, tick, arg);
}

/* Header and all: the copy says that it is in WAL mode, as its origin is. */
static int leave_wal(const char *path)
{
	__attribute__((cleanup(close_copy))) sqlite3 *sq = NULL;
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE;
	int code = sqlite3_open_v2(path, &sq, flags, page_sum_vfs());

	if (code == SQLITE_OK)
		code = sqlite3_exec(sq, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	return code;
}

int db_backup(struct db *from, const char *path, db_backup_fn tick, void *arg)
{
	int res = txn_read_begin(from);

	if (res)
		return res;
	res = copy_to(from, path, tick, arg);
	txn_read_end(from);
	if (!res)
		res = leave_wal(path);
	return res > 0 ? db_fail(from, res) : res;
}
