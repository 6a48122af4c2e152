/* SPDX-License-Identifier: MIT */
/*
 * An open store: its directories, its lock, its connections. Layer: store.
 *
 * One connection writes and checkpoints. Readers are pooled; a connection is used by one thread at
 * a time, so the pool's list is all that a lock guards.
 */
#include "store/store.h"
#include "store/blob/blob.h"
#include "store/sqlite/db.h"
#include "store/generation.h"
#include "store/layout.h"
#include "store/tree/session_row.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/schema.h"
#include "store/store_migrate.h"
#include "store/blob/spare.h"
#include "store/store_lock.h"
#include "store/sqlite/txn.h"
#include "store/sqlite/unsafe.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/uuid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#define CHECKPOINT_FRAMES \
	4096	    /* 16 MiB: rare enough to cost little, small enough for quick recovery */
#define POOL_MAX 64 /* idle readers that are kept */

struct store {
	char *path; /* owned; as given */
	struct store_format format;
	const struct migrations *steps; /* borrowed */
	char db_path[PATH_MAX];
	int root, blobs, staging, lock; /* owned; -1: none */
	struct db *writer;		/* owned; NULL with STORE_READ */
	struct spares *spares;		/* owned */
	atomic_bool broken;
	_Atomic int64_t cache_hits, cache_misses; /* pages */
	bool is_served;				  /* STORE_SERVE, and begun */

	struct lock pool_lock; /* LOCK_READERS; guards: */
	struct db *idle[POOL_MAX];
	int n_idle;
};

static int open_dir(struct store *s, const char *name, int *out, struct errmsg *err)
{
	int fd = io_open_beneath(s->root, name, O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return errmsg_set(err, fd, "cannot open %s/%s: %s", s->path, name, strerror(-fd));
	*out = fd;
	return 0;
}

static int check_blobs(struct store *s, struct errmsg *err)
{
	if (faccessat(s->blobs, s->format.uuid.s, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (errno != ENOENT)
		return errmsg_set(err, -errno, "cannot read %s/%s: %s", s->path, LAYOUT_BLOBS,
				  strerror(errno));
	return errmsg_set(err, -EXDEV, "%s/%s does not belong to this store (there is no %s in it)",
			  s->path, LAYOUT_BLOBS, s->format.uuid.s);
}

static int open_dirs(struct store *s, struct errmsg *err)
{
	int res;

	s->root = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->root < 0)
		return errmsg_set(err, -errno, "cannot open the store %s: %s", s->path,
				  strerror(errno));
	res = layout_check_fs(s->root, s->path, err);
	if (!res)
		res = layout_read_format(s->root, s->path, migrations_newest(s->steps), &s->format,
					 err);
	if (!res)
		res = open_dir(s, LAYOUT_BLOBS, &s->blobs, err);
	if (!res)
		res = open_dir(s, LAYOUT_STAGING, &s->staging, err);
	if (!res)
		res = check_blobs(s, err);
	return res ? res : layout_db_path(s->root, s->path, s->db_path, err);
}

/* A meta.db that is not there must not be made anew, nor one that is a symlink be followed. */
static int check_db_file(const struct store *s, struct errmsg *err)
{
	struct stat st;

	if (fstatat(s->root, LAYOUT_DB, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errmsg_set(err, errno == ENOENT ? -EUCLEAN : -errno, "cannot find %s: %s",
				  s->db_path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return errmsg_set(err, -EUCLEAN, "%s is not a regular file", s->db_path);
	return 0;
}

static int open_db(struct store *s, enum store_mode mode, struct errmsg *err)
{
	struct db *db = NULL;
	int res = check_db_file(s, err);

	if (!res)
		res = db_open(s->db_path, mode == STORE_READ ? DB_READ : DB_WRITE, &db, err);
	if (res)
		return res;
	res = schema_check(db, s->format.uuid.s, err);
	if (res)
		db_close(db);
	else if (mode == STORE_READ)
		store_reader_put(s, db);
	else
		s->writer = db;
	return res;
}

static int end_sessions(struct store *s)
{
	int err = txn_begin(s->writer);

	if (err)
		return err;
	err = session_rows_abort_open(s->writer);
	if (err) {
		txn_rollback(s->writer);
		return err;
	}
	return txn_commit(s->writer);
}

/*
 * Who wrote before us may have ended because an fsync of the WAL failed. Then pages of the WAL can
 * be in memory, where we read them, and never have reached the disk, while the next fsync says
 * nothing of it; commits behind them in the WAL would be lost with them at power loss. So all goes
 * into the database before any is made.
 */
static int settle_wal(struct store *s, struct errmsg *err)
{
	int res = store_checkpoint(s, true);

	if (!res || res == -ENOSPC || res == -EDQUOT || res == -EBUSY)
		return 0;
	return errmsg_set(err, res, "cannot write to %s: %s", s->db_path, strerror(-res));
}

/* Nothing else may be read or written before this. */
static int settle_format(struct store *s, enum store_mode mode, struct errmsg *err)
{
	struct store_upgrade u = {
		.root = s->root,
		.path = s->path,
		.db = mode == STORE_READ ? s->idle[0] : s->writer,
		.format = &s->format,
		.steps = s->steps,
	};
	int res;

	if (mode == STORE_READ)
		return store_migrate_is_done(&u, err);
	res = store_migrate(&u, err);
	/* Whether a step that failed so is in the WAL is not known: it stays there as it is. */
	if (res && res != -ENOSPC && res != -EDQUOT && res != -EPROTONOSUPPORT)
		store_set_broken(s);
	return res;
}

/* What the last daemon left: files of sessions that are gone. */
static int start_serving(struct store *s, struct errmsg *err)
{
	int res = staging_empty(s);

	if (res < 0)
		return errmsg_set(err, res, "cannot empty %s/%s: %s", s->path, LAYOUT_STAGING,
				  strerror(-res));
	res = end_sessions(s);
	if (res)
		return errmsg_set(err, res, "cannot write to %s: %s", s->db_path, strerror(-res));
	res = generation_begin(s, err);
	s->is_served = !res;
	return res;
}

static int set_up(struct store *s, enum store_mode mode, const char *mountpoint, struct errmsg *err)
{
	int res = open_dirs(s, err);

	if (!res && mode != STORE_READ)
		res = store_lock_take(s->root, s->path, mountpoint, &s->lock, err);
	if (!res)
		res = open_db(s, mode, err);
	if (!res && mode != STORE_READ)
		res = settle_wal(s, err);
	if (!res)
		res = settle_format(s, mode, err);
	if (!res && mode == STORE_SERVE)
		res = start_serving(s, err);
	return res;
}

int store_open(const char *path, enum store_mode mode, const char *mountpoint, struct store **out,
	       struct errmsg *err)
{
	struct store_opening how = {
		.path = path,
		.mode = mode,
		.mountpoint = mountpoint,
		.steps = &schema_migrations,
	};

	return store_open_with(&how, out, err);
}

int store_open_with(const struct store_opening *how, struct store **out, struct errmsg *err)
{
	struct store *s = calloc(1, sizeof(*s));
	int res;

	if (!s)
		return errmsg_set(err, -ENOMEM, "out of memory");
	s->root = s->blobs = s->staging = s->lock = -1;
	lock_init(&s->pool_lock, LOCK_READERS);
	s->steps = how->steps;
	s->path = strdup(how->path);
	res = s->path && spares_new(&s->spares) == 0 ? set_up(s, how->mode, how->mountpoint, err) :
						       errmsg_set(err, -ENOMEM, "out of memory");
	if (res) {
		store_close(s);
		return res;
	}
	if (unsafe_no_dir_fsync())
		log_warning("FENCEFS_UNSAFE_NO_DIR_FSYNC is set: blobs may be lost at power loss");
	*out = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	if (s->is_served && !store_is_broken(s))
		generation_end(s);
	/*
	 * What a broken writer has in its cache is not to be trusted; the WAL is, as the next one
	 * to open it reads it.
	 */
	if (s->writer && store_is_broken(s))
		db_keep_wal(s->writer);
	else if (s->writer)
		(void)store_checkpoint(s, true);
	for (int i = 0; i < s->n_idle; i++)
		db_close(s->idle[i]);
	db_close(s->writer);
	if (s->spares)
		spares_free(s, s->spares);
	cleanup_fd(&s->staging);
	cleanup_fd(&s->blobs);
	cleanup_fd(&s->lock);
	cleanup_fd(&s->root);
	lock_fini(&s->pool_lock);
	free(s->path);
	free(s);
}

const char *store_uuid(const struct store *s)
{
	return s->format.uuid.s;
}

const char *store_path(const struct store *s)
{
	return s->path;
}

int store_root_fd(const struct store *s)
{
	return s->root;
}

int store_blobs_fd(const struct store *s)
{
	return s->blobs;
}

struct spares *store_spares(struct store *s)
{
	return s->spares;
}

int store_staging_fd(const struct store *s)
{
	return s->staging;
}

int store_statvfs(const struct store *s, struct statvfs *out)
{
	struct statvfs st;

	if (fstatvfs(s->root, &st) < 0)
		return -errno;
	*out = st;
	return 0;
}

struct db *store_writer(struct store *s)
{
	return s->writer;
}

static void count_cache(struct store *s, struct db *db)
{
	int64_t hits, misses;

	db_take_cache_counts(db, &hits, &misses);
	atomic_fetch_add_explicit(&s->cache_hits, hits, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->cache_misses, misses, memory_order_relaxed);
}

void store_count_writer(struct store *s)
{
	count_cache(s, s->writer);
}

void store_cache_counts(struct store *s, int64_t *out_hits, int64_t *out_misses)
{
	/*
	 * Nobody uses an idle connection while the lock is held; counting reads a few words of
	 * each.
	 */
	lock_take(&s->pool_lock);
	for (int i = 0; i < s->n_idle; i++)
		count_cache(s, s->idle[i]);
	lock_drop(&s->pool_lock);
	*out_hits = atomic_load_explicit(&s->cache_hits, memory_order_relaxed);
	*out_misses = atomic_load_explicit(&s->cache_misses, memory_order_relaxed);
}

int store_reader_get(struct store *s, struct db **out)
{
	struct db *db = NULL;
	int err;

	lock_take(&s->pool_lock);
	if (s->n_idle > 0)
		db = s->idle[--s->n_idle];
	lock_drop(&s->pool_lock);
	if (!db) {
		err = db_open(s->db_path, DB_READ, &db, NULL);
		if (err)
			return err;
	}
	*out = db;
	return 0;
}

void store_reader_put(struct store *s, struct db *db)
{
	bool kept;

	lock_take(&s->pool_lock);
	kept = s->n_idle < POOL_MAX;
	if (kept)
		s->idle[s->n_idle++] = db;
	lock_drop(&s->pool_lock);
	if (kept)
		return;
	count_cache(s, db);
	db_close(db);
}

int store_reader_open(struct store *s, struct db **out)
{
	struct db *db = NULL;
	int err = db_open(s->db_path, DB_READ, &db, NULL);

	if (!err)
		err = db_exec(db, "PRAGMA mmap_size = 0");
	if (err) {
		db_close(db);
		return err;
	}
	*out = db;
	return 0;
}

bool store_is_broken(const struct store *s)
{
	return atomic_load(&s->broken);
}

void store_set_broken(struct store *s)
{
	if (!atomic_exchange(&s->broken, true))
		log_error("store %s: a write failed in a way that leaves its outcome unknown; it is"
			  " read-only "
			  "until it is opened again",
			  s->path);
}

static int checkpoint(struct store *s, bool truncate)
{
	int err;

	if (!s->writer)
		return -EROFS;
	if (store_is_broken(s))
		return -EIO;
	err = db_checkpoint(s->writer, truncate);
	/* A full disk or a reader in the way leaves everything safe in the WAL. */
	if (err && err != -ENOSPC && err != -EDQUOT && err != -EBUSY)
		store_set_broken(s);
	return err;
}

int store_checkpoint(struct store *s, bool force)
{
	if (!force && s->writer && db_wal_frames(s->writer) < CHECKPOINT_FRAMES)
		return 0;
	return checkpoint(s, force);
}

int store_checkpoint_passive(struct store *s)
{
	return checkpoint(s, false);
}
