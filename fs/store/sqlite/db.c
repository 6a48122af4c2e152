/* SPDX-License-Identifier: MIT */
/*
 * Connections: how they are opened, and what SQLite's errors mean. Layer: store.
 *
 * One connection writes and checkpoints; all others are query_only and never checkpoint, because
 * SQLite before 3.51.3 can lose committed pages when two connections do so at the same instant.
 */
#include "store/sqlite/db_conn.h"

#include "base/log.h"
#include "store/sqlite/page_sum.h"
#include "store/sqlite/unsafe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_TIMEOUT_MS 5000
#define STOP_UNIT	10000 /* instructions of SQLite's machine between two looks */
#define WORK_UNIT	1000  /* instructions of SQLite's machine */

/*
 * The writer's page cache is large, so that a transaction rarely spills into the WAL before it
 * commits. A WAL that once grew is cut back when it restarts.
 */
static const char writer_pragmas[] = "PRAGMA synchronous = FULL;"
				     "PRAGMA wal_autocheckpoint = 0;"
				     "PRAGMA journal_size_limit = 67108864;"
				     "PRAGMA cache_size = -65536;";
/*
 * Not mapped: a page that cannot be read would end the daemon with SIGBUS, where read(2) gives EIO.
 */
static const char reader_pragmas[] = "PRAGMA query_only = 1;"
				     "PRAGMA cache_size = -4096;"
				     "PRAGMA mmap_size = 0;";
static const char common_pragmas[] = "PRAGMA foreign_keys = OFF;"
				     "PRAGMA cell_size_check = ON;"
				     "PRAGMA trusted_schema = OFF;"
				     "PRAGMA temp_store = MEMORY;";

/*
 * SQLite (3.40) does not note the error of a write that failed within COMMIT, but for ENOSPC, which
 * is a code of its own. errno still has it: what SQLite does afterwards gives locks back and
 * succeeds.
 */
static int system_errno(struct db *db, int code)
{
	int last = errno;
	int noted = sqlite3_system_errno(db->sq);

	return noted || code != SQLITE_IOERR_WRITE ? noted : last;
}

/*
 * Out of space is an ordinary answer only where a write of pages failed: then the commit record
 * cannot be complete. A failed fsync, or a wal-index that cannot grow (which SQLite does after it
 * has written and synced the commit record), leaves the outcome of a COMMIT unknown and must not
 * pass for "rolled back".
 */
static int io_errno(struct db *db, int code)
{
	int sys = system_errno(db, code);

	if (code == SQLITE_IOERR_NOMEM)
		return -ENOMEM;
	if (code == SQLITE_IOERR_DATA || code == SQLITE_IOERR_CORRUPTFS)
		return -EUCLEAN;
	if (sys != ENOSPC && sys != EDQUOT)
		return -EIO;
	if (code == SQLITE_IOERR_WRITE)
		return -sys;
	if ((code == SQLITE_IOERR_SHMSIZE || code == SQLITE_IOERR_SHMOPEN) && !db->committing)
		return -sys;
	return -EIO;
}

static int code_errno(struct db *db, int code)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_SCHEMA:
	case SQLITE_ERROR: /* our SQL is fixed: it can only be the schema that is not ours */
		return -EUCLEAN;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_INTERRUPT:
		return -EINTR;
	case SQLITE_TOOBIG:
		return -EFBIG;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_IOERR:
		return io_errno(db, code);
	case SQLITE_CANTOPEN:
		return sqlite3_system_errno(db->sq) > 0 ? -sqlite3_system_errno(db->sq) : -EIO;
	default:
		return -EIO;
	}
}

int db_fail(struct db *db, int code)
{
	int err = code_errno(db, code);

	/* Logged here, because SQLite's own words are lost above this line. */
	if (err != -EBUSY && err != -ENOSPC && err != -EDQUOT && err != -EINTR &&
	    code != SQLITE_IOERR_DATA) /* told with the page */
		log_error("database: %s (SQLite code %d, system error %d)", sqlite3_errmsg(db->sq),
			  code, sqlite3_system_errno(db->sq));
	if (db->in_txn && sqlite3_get_autocommit(db->sq) && !db->lost)
		db->lost = err;
	return err;
}

int db_exec(struct db *db, const char *sql)
{
	int code = sqlite3_exec(db->sq, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : db_fail(db, code);
}

static int note_wal(void *arg, sqlite3 *sq, const char *name, int frames)
{
	struct db *db = arg;

	(void)sq;
	(void)name;
	db->wal_frames = frames;
	return SQLITE_OK;
}

static int note_work(void *arg)
{
	struct db *db = arg;

	atomic_fetch_add_explicit(&db->work, 1, memory_order_relaxed);
	return 0;
}

static int is_wal(void *out, int n, char **values, char **names)
{
	(void)names;
	*(bool *)out = n == 1 && values[0] && strcmp(values[0], "wal") == 0;
	return 0;
}

/*
 * A rollback journal would work, but no reader could read while the writer writes: refuse what is
 * not WAL.
 */
static int enter_wal(struct db *db)
{
	bool wal = false;
	int code = sqlite3_exec(db->sq, "PRAGMA journal_mode = WAL", is_wal, &wal, NULL);

	if (code != SQLITE_OK)
		return db_fail(db, code);
	return wal ? 0 : -EOPNOTSUPP;
}

static int apply_unsafe(struct db *db)
{
	if (!unsafe_synchronous_normal())
		return 0;
	db->never_syncs = true;
	log_warning("FENCEFS_UNSAFE_SYNCHRONOUS is set: commits may be lost at power loss");
	return db_exec(db, "PRAGMA synchronous = NORMAL");
}

/* The last of them writes the first page: what is to be in its header comes before. */
static int set_up_new(struct db *db)
{
	int code, err = db_exec(db, "PRAGMA page_size = 4096");

	if (err)
		return err;
	code = page_sum_want(db->sq);
	if (code != SQLITE_OK)
		return db_fail(db, code);
	return db_exec(db, "PRAGMA auto_vacuum = INCREMENTAL");
}

static int set_up_writer(struct db *db, enum db_how how)
{
	int err = how == DB_CREATE ? set_up_new(db) : 0;

	if (!err)
		err = enter_wal(db);
	if (!err)
		err = db_exec(db, writer_pragmas);
	if (!err)
		err = apply_unsafe(db);
	sqlite3_wal_hook(db->sq, note_wal, db);
	sqlite3_progress_handler(db->sq, WORK_UNIT, note_work, db);
	return err;
}

static int set_up(struct db *db, enum db_how how)
{
	int err;

	sqlite3_busy_timeout(db->sq, BUSY_TIMEOUT_MS);
	sqlite3_db_config(db->sq, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->sq, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, how == DB_READ, NULL);
	err = db_exec(db, common_pragmas);
	if (err)
		return err;
	return how == DB_READ ? db_exec(db, reader_pragmas) : set_up_writer(db, how);
}

static int open_flags(enum db_how how)
{
	int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE;

	return flags | (how == DB_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
}

static void cannot_open(struct db *db, const char *path, int res, struct errmsg *err)
{
	if (res == -EBUSY)
		errmsg_set(err, res,
			   "cannot open the database %s: another program holds it: see fuser %s",
			   path, path);
	else if (res == -EUCLEAN)
		errmsg_set(err, res, "the database %s is damaged: " DB_DAMAGED_REMEDY, path);
	else
		errmsg_set(err, res, "cannot open the database %s: %s", path,
			   sqlite3_errmsg(db->sq));
}

int db_open(const char *path, enum db_how how, struct db **out, struct errmsg *err)
{
	struct db *db = calloc(1, sizeof(*db));
	int code, res;

	if (!db)
		return -ENOMEM;
	code = sqlite3_open_v2(path, &db->sq, open_flags(how), page_sum_vfs());
	if (!db->sq) {
		free(db);
		return -ENOMEM;
	}
	res = code == SQLITE_OK ? set_up(db, how) : db_fail(db, code);
	if (res) {
		cannot_open(db, path, res, err);
		db_close(db);
		return res;
	}
	*out = db;
	return 0;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	db_finalize_all(db);
	sqlite3_close(db->sq);
	free(db);
}

void db_keep_wal(struct db *db)
{
	sqlite3_db_config(db->sq, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

int db_wal_frames(const struct db *db)
{
	return db->wal_frames;
}

uint64_t db_work(const struct db *db)
{
	return atomic_load_explicit(&db->work, memory_order_relaxed);
}

bool db_has_met_damage(void)
{
	return page_sum_misses() > 0;
}

void db_tolerate(struct db *db, enum db_tolerance how)
{
	static const enum page_sum_tolerance of[] = {
		[DB_STRICT] = PAGE_SUM_STRICT,
		[DB_ROWS] = PAGE_SUM_ROWS,
		[DB_ALL] = PAGE_SUM_ALL,
	};

	/*
	 * Else whoever is not as tolerant would find them in the cache, where nothing is compared.
	 */
	if (page_sum_tolerate(db->sq, of[how]))
		sqlite3_db_release_memory(db->sq);
}

int db_page_check(struct db *db, uint32_t pgno)
{
	return page_sum_is_on(db->sq) ? page_sum_check(db->sq, pgno) : -EOPNOTSUPP;
}

int db_checkpoint(struct db *db, bool truncate)
{
	int mode = truncate ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
	int frames = 0, done = 0;
	int code = sqlite3_wal_checkpoint_v2(db->sq, "main", mode, &frames, &done);

	if (code != SQLITE_OK)
		return db_fail(db, code);
	/* Once all of it is in the database, the next commit starts the WAL over. */
	if (done >= frames)
		db->wal_frames = 0;
	return 0;
}

static int is_stopped(void *stop)
{
	return atomic_load_explicit((const atomic_bool *)stop, memory_order_relaxed);
}

void db_stop_when(struct db *db, const atomic_bool *stop)
{
	sqlite3_progress_handler(db->sq, STOP_UNIT, is_stopped, (void *)(uintptr_t)stop);
}

static int64_t take_status(struct db *db, int what)
{
	int now = 0, highest = 0;

	return sqlite3_db_status(db->sq, what, &now, &highest, true) == SQLITE_OK ? now : 0;
}

void db_take_cache_counts(struct db *db, int64_t *out_hits, int64_t *out_misses)
{
	*out_hits = take_status(db, SQLITE_DBSTATUS_CACHE_HIT);
	*out_misses = take_status(db, SQLITE_DBSTATUS_CACHE_MISS);
}

int64_t db_changes(struct db *db)
{
	return sqlite3_changes64(db->sq);
}

int64_t db_last_rowid(struct db *db)
{
	return sqlite3_last_insert_rowid(db->sq);
}
