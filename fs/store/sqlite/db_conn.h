/* SPDX-License-Identifier: MIT */
/* The inside of a connection, for the driver's own files (db.c, stmt.c, txn.c). */
#ifndef FENCE_STORE_SQLITE_DB_CONN_H
#define FENCE_STORE_SQLITE_DB_CONN_H

#include "store/sqlite/db.h"

#include <sqlite3.h>
#include <stdatomic.h>

#define DB_CACHE_BUCKETS 128

struct db {
	sqlite3 *sq;			      /* owned */
	struct stmt *cache[DB_CACHE_BUCKETS]; /* owned; chained by stmt.next */
	struct changed *changed;	      /* borrowed: who listens; NULL: nobody */
	int wal_frames;
	int read_depth;	  /* nested txn_read_begin() */
	bool in_txn;	  /* between txn_begin() and txn_commit() or txn_rollback() */
	bool is_unsynced; /* COMMIT does not wait for the disk */
	bool never_syncs; /* unsafe.h */
	/* COMMIT is running: an error now may come after the commit record was written */
	bool committing;
	atomic_uint_fast64_t work; /* grows while SQLite computes; of the writer only */
	int lost; /* -errno that made SQLite roll the transaction back by itself, else 0 */
};

/* The one place where SQLite's codes become -errno. Never 0. */
int db_fail(struct db *db, int code);
void db_finalize_all(struct db *db);

#endif
