/* SPDX-License-Identifier: MIT */
/* See backup.h. Layer: store. */
#include "store/backup/backup_impl.h"
#include "store/sqlite/db.h"
#include "store/tree/revision.h"
#include "store/sqlite/schema.h"
#include "store/store.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRIES 20 /* to take the database again because gc was faster */

static void cleanup_db(struct db **db)
{
	db_close(*db);
}
#define auto_db __attribute__((cleanup(cleanup_db)))

/* Pages are not counted as progress; but one may want to stop. */
static int tick(void *arg, int64_t done, int64_t pages)
{
	const struct backup_options *opt = arg;

	(void)done;
	(void)pages;
	return opt->progress ? opt->progress(opt->arg, 0, 0) : 0;
}

static int is_sound(const char *path)
{
	auto_db struct db *db = NULL;
	auto_stmt struct stmt *st = NULL;
	char answer[8];
	int res = db_open(path, DB_READ, &db, NULL);

	if (!res)
		res = db_stmt(db, "PRAGMA quick_check(1)", &st);
	if (!res)
		res = stmt_step(st);
	if (res <= 0)
		return res ? res : -EUCLEAN;
	res = stmt_get_str(st, 0, answer, sizeof(answer));
	return !res && strcmp(answer, "ok") == 0 ? 0 : -EUCLEAN;
}

/* Closed by the time SQLite opens it: it takes locks that closing any descriptor would drop. */
static int make_file(int root, const char *name)
{
	auto_fd int fd = io_open_beneath(root, name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	return fd < 0 ? fd : 0;
}

/* Nothing that an interrupted run has left beside it must be taken for its own. */
static int make_empty(int root, const char *name)
{
	static const char *const suffixes[] = { "-wal", "-shm", "-journal" };
	char beside[32];

	for (int i = 0; i < 3; i++) {
		snprintf(beside, sizeof(beside), "%s%s", name, suffixes[i]);
		if (unlinkat(root, beside, 0) < 0 && errno != ENOENT)
			return -errno;
	}
	return make_file(root, name);
}

static int sync_file(int root, const char *name)
{
	auto_fd int fd = io_open_beneath(root, name, O_RDONLY, 0);

	return fd < 0 ? fd : io_fsync(fd);
}

int backup_copy_db(struct db *from, struct backup_dir *d, const char *name,
		   const struct backup_options *opt)
{
	char path[PATH_MAX + 8];
	struct backup_options copy = *opt;
	size_t len = strlen(d->db) - strlen(LAYOUT_DB);
	int err = make_empty(d->root, name);

	if (err)
		return err;
	snprintf(path, sizeof(path), "%.*s%s", (int)len, d->db, name);
	err = db_backup(from, path, tick, &copy);
	if (!err)
		err = is_sound(path);
	return err ? err : sync_file(d->root, name);
}

static int note_revision(struct db *db, struct backup_result *out)
{
	struct revision *r = malloc(sizeof(*r));
	int err = r ? revision_current(db, &out->revision) : -ENOMEM;

	if (!err)
		err = revision_get(db, out->revision, r);
	if (!err)
		out->at = r->at;
	free(r);
	return err;
}

/* The database, then what it refers to. -EAGAIN: once more. */
static int take(struct store *s, struct db *origin, struct backup_dir *d,
		const struct backup_options *opt, struct backup_result *out)
{
	auto_db struct db *db = NULL;
	char path[PATH_MAX + 8];
	struct blob_copy c = {
		.from = store_blobs_fd(s),
		.to = d,
		.origin = origin,
		.opt = opt,
		.result = out,
	};
	int err = backup_copy_db(origin, d, BACKUP_DB_NEW, opt);

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s.new", d->db);
	err = db_open(path, DB_READ, &db, NULL);
	if (!err)
		err = note_revision(db, out);
	c.db = db;
	return err ? err : backup_copy_blobs(&c);
}

static int put_in_place(struct backup_dir *d)
{
	if (renameat(d->root, BACKUP_DB_NEW, d->root, LAYOUT_DB) < 0)
		return -errno;
	return io_fsync(d->root);
}

static int drop_unknown(struct backup_dir *d, struct backup_result *out)
{
	auto_db struct db *db = NULL;
	int res = db_open(d->db, DB_READ, &db, NULL);

	if (!res)
		res = backup_drop_unknown(d, db);
	if (res < 0)
		return res;
	out->removed = res;
	return 0;
}

static int run(struct store *s, struct backup_dir *d, const struct backup_options *opt,
	       struct backup_result *out)
{
	int64_t copied = 0, bytes = 0;
	struct db *origin;
	int err = store_reader_get(s, &origin);

	if (err)
		return err;
	err = -EAGAIN;
	for (int i = 0; err == -EAGAIN && i < TRIES; i++) {
		*out = (struct backup_result){ .new_blobs = copied, .new_bytes = bytes };
		err = take(s, origin, d, opt, out);
		copied = out->new_blobs;
		bytes = out->new_bytes;
	}
	store_reader_put(s, origin);
	if (!err)
		err = put_in_place(d);
	return err ? err : drop_unknown(d, out);
}

int backup_make(struct store *s, const char *dest, const struct backup_options *opt,
		struct backup_result *out, struct errmsg *err)
{
	auto_backup_dir struct backup_dir d = BACKUP_DIR_CLOSED;
	int res = backup_dir_make(dest, store_uuid(s), &d, err);

	if (res)
		return res;
	res = run(s, &d, opt, out);
	if (res && res != -EINTR)
		return errmsg_set(err, res, "the backup in %s is still the old one: %s", dest,
				  res == -EUCLEAN ? "the database is damaged, run fence fsck" :
				  res == -EAGAIN  ? "gc keeps removing blobs" :
						    strerror(-res));
	return res;
}
