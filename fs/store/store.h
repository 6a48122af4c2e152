/* SPDX-License-Identifier: MIT */
/*
 * A store directory: open (one process at a time), its connections.
 *
 * Exactly one connection writes and checkpoints (store_writer); all others are query_only and never
 * checkpoint (SQLite before 3.51.3 can lose committed pages when two connections checkpoint at
 * once).
 * The layer has no threads of its own; every function here may be called from any thread, the
 * writer's connection from one thread at a time.
 */
#ifndef FENCE_STORE_STORE_H
#define FENCE_STORE_STORE_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

struct db;
struct migrations;
struct spares;
struct store;

enum store_mode {
	STORE_SERVE, /* takes the lock, empties staging/, ends sessions a crash left open */
	STORE_OWN,   /* takes the lock, for an offline tool */
	STORE_READ,  /* no lock, readers only: beside a running daemon */
};

/*
 * Open @path. @mountpoint (may be NULL) is written into the lock file with our pid, for the message
 * that a second process gets.
 * -ENOTDIR/-ENOENT/-EMEDIUMTYPE: not a store.  -EPROTONOSUPPORT: a newer format, or with
 * STORE_READ an older one; others migrate that (store_migrate.h).  -EBUSY: somebody
 * else owns it (message: pid and mount point).  -EXDEV: blobs/UUID names another store.  -EUCLEAN:
 * damaged database.  -EOPNOTSUPP: network file system.
 */
int store_open(const char *path, enum store_mode mode, const char *mountpoint, struct store **out,
	       struct errmsg *err);
/* The same with other steps from format to format than the program's own: for tests of them. */
struct store_opening {
	const char *path;
	enum store_mode mode;
	const char *mountpoint; /* may be NULL */
	const struct migrations *steps;
};
int store_open_with(const struct store_opening *how, struct store **out, struct errmsg *err);
/* Checkpoints (if ours to do), closes, releases the lock. */
void store_close(struct store *s);

const char *store_uuid(const struct store *s);
const char *store_path(const struct store *s); /* as given to store_open */
/* The directory descriptors are borrowed. */
int store_root_fd(const struct store *s);
int store_blobs_fd(const struct store *s);
int store_staging_fd(const struct store *s);
struct spares *store_spares(struct store *s); /* borrowed */
int store_statvfs(const struct store *s, struct statvfs *out);

/*
 * Pages that SQLite has found in its caches, and has read: of the readers that are idle, and of the
 * writer as of store_count_writer(). Neither goes back.
 */
void store_cache_counts(struct store *s, int64_t *out_hits, int64_t *out_misses);
/* Writer's thread only. */
void store_count_writer(struct store *s);

/* The one writing connection (borrowed). NULL with STORE_READ. */
struct db *store_writer(struct store *s);
/* A read-only connection from the pool; give it back with reader_put. */
int store_reader_get(struct store *s, struct db **out);
void store_reader_put(struct store *s, struct db *db);
/*
 * One of one's own, for work that reads whole tables: without mmap, so that a sector that cannot be
 * read is an error and not SIGBUS. Ends with db_close().
 */
int store_reader_open(struct store *s, struct db **out);

/*
 * Sticky: after a failed fsync or COMMIT every later write answers -EIO until the store is opened
 * again.
 */
bool store_is_broken(const struct store *s);
void store_set_broken(struct store *s);

/*
 * Move the WAL into the database if it is larger than a threshold (or always, @force); writer's
 * thread only.
 */
int store_checkpoint(struct store *s, bool force);
/* However small it is, as far as readers allow, without waiting for them. */
int store_checkpoint_passive(struct store *s);

#endif
