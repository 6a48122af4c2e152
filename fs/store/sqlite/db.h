/* SPDX-License-Identifier: MIT */
/*
 * The database driver: connections and prepared statements. The only place that knows SQLite's
 * result codes; what leaves it is 0 or -errno. SQL text is a string constant: its address is the
 * key under which a connection keeps the statement.
 */
#ifndef FENCE_STORE_SQLITE_DB_H
#define FENCE_STORE_SQLITE_DB_H

#include "base/errmsg.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct stmt;

enum db_how {
	DB_CREATE, /* a new database in an empty file; then as DB_WRITE */
	DB_WRITE,  /* the one connection that writes and checkpoints */
	DB_READ,   /* query_only, never checkpoints */
};

#define DB_DAMAGED_REMEDY                                                         \
	"restore it from a backup (fence restore-store), or, if another program " \
	"has written it, take it as it is (fence fsck --accept-pages)"

int db_open(const char *path, enum db_how how, struct db **out, struct errmsg *err);
/* Finalises every statement. None may be in use. */
void db_close(struct db *db);
/* From now on db_close() leaves the WAL to whoever opens the database next. */
void db_keep_wal(struct db *db);
/*
 * When *@stop (borrowed for the life of the connection) becomes true, what runs on it ends with
 * -EINTR. Not for the one that writes.
 */
void db_stop_when(struct db *db, const atomic_bool *stop);
/* Pages found in the connection's cache, and pages read, since the last call. */
void db_take_cache_counts(struct db *db, int64_t *out_hits, int64_t *out_misses);
/* Several statements without parameters or results. */
int db_exec(struct db *db, const char *sql);
/* Frames in the WAL after the last commit of this connection. */
int db_wal_frames(const struct db *db);
/*
 * Grows while SQLite computes on a connection that writes, not while it waits for the disk. From
 * any thread.
 */
uint64_t db_work(const struct db *db);
/*
 * Move the WAL into the database: what readers allow, or (@truncate) all of it, waiting for them.
 * -EBUSY: readers stayed.
 */
int db_checkpoint(struct db *db, bool truncate);

/* Whether, since the process began, a page of a database was read that was damaged. */
bool db_has_met_damage(void);
enum db_tolerance {
	DB_STRICT,
	DB_ROWS, /* pages with rows of a table, and nothing else: also for who writes */
	DB_ALL,
};

/*
 * Between this and db_tolerate(db, DB_STRICT), damaged pages are read as they are: for what has a
 * hash of its own. They are forgotten then, but for those that a statement in use has.
 */
void db_tolerate(struct db *db, enum db_tolerance how);
/*
 * Page @pgno (from 1) of the file, as it is there. 1: as it was written.  0: damaged.  -ENODATA:
 * behind the end.  -EOPNOTSUPP: this database has no sums.  -EIO.
 */
int db_page_check(struct db *db, uint32_t pgno);

/*
 * Have every page of the database at @path match its sum; nobody may have it open.
 * -EOPNOTSUPP: it has no sums.  -EUCLEAN: SQLite cannot read it.
 */
int db_accept_pages(const char *path, int64_t *out_pages, struct errmsg *err);

/* Called between pieces of a backup; negative stops it. */
typedef int (*db_backup_fn)(void *arg, int64_t pages_done, int64_t pages);
/*
 * One snapshot of @from into the existing, empty file @path, whose content the caller makes
 * durable. What is there after a failure is worth nothing.
 */
int db_backup(struct db *from, const char *path, db_backup_fn tick, void *arg);

/*
 * The statement for @sql, reset and unbound; for the caller's use until stmt_done(). Declare it
 * auto_stmt: a statement left in use pins the WAL. Bound pointers are borrowed until stmt_done().
 * Parameters count from 1, columns from 0.
 */
int db_stmt(struct db *db, const char *sql, struct stmt **out);
void stmt_done(struct stmt *st);

static inline void cleanup_stmt(struct stmt **st)
{
	if (*st)
		stmt_done(*st);
}
#define auto_stmt __attribute__((cleanup(cleanup_stmt)))

/* Errors of binding are reported by the next stmt_step(). NULL pointers bind NULL. */
void stmt_int(struct stmt *st, int param, int64_t value);
void stmt_null(struct stmt *st, int param);
void stmt_text(struct stmt *st, int param, const char *text);
void stmt_blob(struct stmt *st, int param, const void *data, size_t len);
/* The bytes of a string, as a blob: paths and names. */
void stmt_path(struct stmt *st, int param, const char *path);

/* 1: a row.  0: done.  -errno. */
int stmt_step(struct stmt *st);
/* Step a statement that gives no rows, and reset it, so that it can be bound and run again. */
int stmt_run(struct stmt *st);
/* Rows changed by the last statement that ran. */
int64_t db_changes(struct db *db);
int64_t db_last_rowid(struct db *db);

bool stmt_is_null(struct stmt *st, int column);
int64_t stmt_get_int(struct stmt *st, int column);
/* Copies, NUL-terminated; NULL gives "". -EUCLEAN: longer than @room - 1, or a NUL within. */
int stmt_get_str(struct stmt *st, int column, char *out, size_t room);
/* Exactly @len bytes. -EUCLEAN. */
int stmt_get_bytes(struct stmt *st, int column, void *out, size_t len);
/* malloc'd copy with a NUL behind it, never NULL on success. */
int stmt_get_copy(struct stmt *st, int column, void **out, size_t *out_len);
/* The one number that a query without parameters gives; NULL is 0. -EUCLEAN: it gives no row. */
int db_int(struct db *db, const char *sql, int64_t *out);

#endif
