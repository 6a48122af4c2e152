/* SPDX-License-Identifier: MIT */
/* See store_accept.h. Layer: store. */
#include "store/store_accept.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/uuid.h"
#include "store/sqlite/db.h"
#include "store/layout.h"
#include "store/sqlite/migrate.h"
#include "store/store_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_lost_found(int root)
{
	if (mkdirat(root, LAYOUT_LOST_FOUND, 0700) < 0 && errno != EEXIST)
		return -errno;
	return io_open_beneath(root, LAYOUT_LOST_FOUND, O_RDONLY | O_DIRECTORY, 0);
}

/* @name may be missing: a WAL is. */
static int copy_file(int root, const char *name, int lost, const char *to)
{
	auto_fd int in = io_open_beneath(root, name, O_RDONLY, 0), out = -1;
	struct stat st;
	int err;

	if (in < 0)
		return in == -ENOENT ? 0 : in;
	if (fstat(in, &st) < 0)
		return -errno;
	out = io_open_beneath(lost, to, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (out < 0)
		return out;
	err = io_copy(in, out, st.st_size);
	return err ? err : io_fsync(out);
}

static void wal_name(const char *copy, char out[NAME_MAX])
{
	snprintf(out, NAME_MAX, "%.200s-wal", copy);
}

/* Before SQLite has it open: a descriptor of it that is closed takes SQLite's locks along. */
static int keep_copy(int root, char out[NAME_MAX])
{
	auto_fd int lost = open_lost_found(root);
	char wal[NAME_MAX];
	int err;

	if (lost < 0)
		return lost;
	snprintf(out, NAME_MAX, LAYOUT_DB "-%" PRId64, io_now_ns());
	wal_name(out, wal);
	err = copy_file(root, LAYOUT_DB, lost, out);
	if (!err)
		err = copy_file(root, LAYOUT_DB "-wal", lost, wal);
	if (!err)
		err = io_fsync(lost);
	return err ? err : io_fsync(root);
}

/* Nothing was changed. */
static void forget_copy(int root, char copy[NAME_MAX])
{
	auto_fd int lost = open_lost_found(root);
	char wal[NAME_MAX];

	wal_name(copy, wal);
	if (lost >= 0) {
		unlinkat(lost, copy, 0);
		unlinkat(lost, wal, 0);
	}
	copy[0] = '\0';
}

int store_accept_pages(const char *path, struct store_accepted *out, struct errmsg *err)
{
	auto_fd int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), lock = -1;
	struct store_accepted done = { 0 };
	char db_path[PATH_MAX];
	struct store_format format;
	int res;

	if (root < 0)
		return errmsg_set(err, -errno, "cannot open the store %s: %s", path,
				  strerror(errno));
	res = layout_read_format(root, path, migrations_newest(&schema_migrations), &format, err);
	if (!res)
		res = store_lock_take(root, path, NULL, &lock, err);
	if (!res)
		res = layout_db_path(root, path, db_path, err);
	if (res)
		return res;
	res = keep_copy(root, done.copy);
	if (res)
		return errmsg_set(err, res, "cannot keep a copy of %s in %s/%s: %s", db_path, path,
				  LAYOUT_LOST_FOUND, strerror(-res));
	res = db_accept_pages(db_path, &done.pages, err);
	if (!res && !done.pages)
		forget_copy(root, done.copy);
	if (!res)
		*out = done;
	return res;
}
