/* SPDX-License-Identifier: MIT */
/*
 * Making a store. Layer: store.
 *
 * The format file comes last, by rename: a directory that has one is a whole store, and one that
 * has only the rest is recognised as the remains of an interrupted attempt.
 */
#include "store/store_create.h"
#include "store/layout.h"
#include "store/sqlite/db.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/txn.h"
#include "store/tree/tree_create.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/uuid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The directory itself, made or found empty. */
static int open_root(const char *path, int *out, struct errmsg *err)
{
	auto_fd int fd = -1;
	int res;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return errmsg_set(err, -errno, "cannot make directory %s: %s", path,
				  strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errmsg_set(err, -errno, "cannot open directory %s: %s", path,
				  strerror(errno));
	if (faccessat(fd, LAYOUT_FORMAT, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return errmsg_set(err, -EEXIST, "%s is a store already", path);
	res = layout_is_empty(fd);
	if (res < 0)
		return errmsg_set(err, res, "cannot read directory %s: %s", path, strerror(-res));
	if (res == 0 && layout_is_unfinished(fd) > 0)
		return errmsg_set(
			err, -ENOTEMPTY,
			"%s holds an unfinished store: its creation was interrupted; empty it and"
			" try again",
			path);
	if (res == 0)
		return errmsg_set(err, -ENOTEMPTY, "%s is not empty and not a store", path);
	if (fchmod(fd, 0700) < 0)
		return errmsg_set(err, -errno, "cannot change the mode of %s: %s", path,
				  strerror(errno));
	*out = take_fd(&fd);
	return 0;
}

static int sync_dir(int dir, const char *name)
{
	auto_fd int fd = io_open_beneath(dir, name, O_RDONLY, 0);

	return fd < 0 ? fd : io_fsync(fd);
}

/* An empty file, or one with @text. Durable once its directory is synced. */
static int make_file(int dir, const char *name, const char *text)
{
	auto_fd int fd = io_open_beneath(dir, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
	int err;

	if (fd < 0)
		return fd;
	err = io_write_all(fd, text, strlen(text));
	return err ? err : io_fsync(fd);
}

static int make_dir(int dir, const char *name)
{
	return mkdirat(dir, name, 0700) < 0 ? -errno : 0;
}

static int make_blobs(int root, const char *uuid)
{
	auto_fd int blobs = -1;
	int err = make_dir(root, LAYOUT_BLOBS);

	if (err)
		return err;
	blobs = io_open_beneath(root, LAYOUT_BLOBS, O_RDONLY | O_DIRECTORY, 0);
	if (blobs < 0)
		return blobs;
	for (unsigned int n = 0; n < 256; n++) {
		char name[3];

		snprintf(name, sizeof(name), "%02x", n & 0xff);
		err = make_dir(blobs, name);
		if (err)
			return err;
	}
	err = make_file(blobs, uuid, "");
	return err ? err : io_fsync(blobs);
}

static int fill_db(struct db *db, const char *uuid)
{
	int err = txn_begin(db);

	if (err)
		return err;
	err = schema_create(db, uuid);
	if (!err)
		err = tree_create(db, geteuid(), getegid(), io_now_ns());
	if (err) {
		txn_rollback(db);
		return err;
	}
	return txn_commit(db);
}

static int make_db(int root, const char *path, const char *uuid, struct errmsg *err)
{
	char db_path[PATH_MAX];
	struct db *db = NULL;
	int res = layout_db_path(root, path, db_path, err);

	if (res)
		return res;
	/*
	 * SQLite takes an empty file for a new database, and its mode for those that it makes
	 * beside it.
	 */
	res = make_file(root, LAYOUT_DB, "");
	if (!res)
		res = db_open(db_path, DB_CREATE, &db, err);
	if (res)
		return res;
	res = fill_db(db, uuid);
	if (!res)
		res = db_checkpoint(db, true);
	db_close(db);
	/* Closed by now: closing a descriptor of the file would drop SQLite's own locks on it. */
	return res ? res : sync_dir(root, LAYOUT_DB);
}

/* The directory that holds the store: whoever we are, ".." of it is where its name is. */
static int sync_parent(int root)
{
	auto_fd int fd = openat(root, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == EACCES ?
			       0 :
			       /* a parent that we may not read is not ours to have changed */
			       -errno;
	return io_fsync(fd);
}

int store_create_finish(int root, const char *uuid, int64_t version)
{
	int err = layout_write_format(root, uuid, version, RENAME_NOREPLACE);

	return err ? err : sync_parent(root);
}

static int make_all(int root, const char *path, const char *uuid, struct errmsg *err)
{
	int res = make_file(root, LAYOUT_LOCK, "");

	if (!res)
		res = make_dir(root, LAYOUT_STAGING);
	if (!res)
		res = make_blobs(root, uuid);
	if (!res)
		res = make_db(root, path, uuid, err);
	return res ? res : store_create_finish(root, uuid, migrations_newest(&schema_migrations));
}

int store_create(const char *path, struct errmsg *err)
{
	auto_fd int root = -1;
	struct uuid uuid;
	struct errmsg detail = { "" };
	int res = open_root(path, &root, err);

	if (!res)
		res = layout_check_fs(root, path, err);
	if (res)
		return res;
	res = uuid_new(&uuid);
	if (!res)
		res = make_all(root, path, uuid.s, &detail);
	if (res)
		return errmsg_set(err, res, "cannot make a store at %s: %s", path,
				  detail.s[0] ? detail.s : strerror(-res));
	return 0;
}
