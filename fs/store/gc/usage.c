/* SPDX-License-Identifier: MIT */
/* See usage.h. One query for each part, over one snapshot. Layer: store. */
#include "store/gc/usage.h"
#include "store/sqlite/db.h"
#include "store/layout.h"
#include "store/store.h"
#include "store/sqlite/txn.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int sum(struct db *db, const char *sql, struct usage_part *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, sql, &st);

	if (res)
		return res;
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -EUCLEAN;
	out->n = stmt_get_int(st, 0);
	out->bytes = stmt_get_int(st, 1);
	return 0;
}

static int sum_content(struct db *db, struct usage *u)
{
	int err = txn_read_begin(db);

	if (err)
		return err;
	err = sum(db,
		  "SELECT count(*), ifnull(sum(size), 0) FROM blob WHERE id IN"
		  " (SELECT blob FROM entry WHERE died IS NULL)",
		  &u->live);
	if (!err)
		err = sum(db,
			  "SELECT count(*), ifnull(sum(size), 0) FROM blob WHERE id IN"
			  " (SELECT blob FROM entry WHERE died IS NOT NULL) AND id NOT IN"
			  " (SELECT blob FROM entry WHERE died IS NULL AND blob IS NOT NULL)",
			  &u->history);
	if (!err)
		err = sum(db,
			  "SELECT count(*), ifnull(sum(size), 0) FROM blob WHERE id NOT IN"
			  " (SELECT blob FROM entry WHERE blob IS NOT NULL)",
			  &u->orphans);
	txn_read_end(db);
	return err;
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int sum_staging(struct store *s, struct usage_part *out)
{
	__attribute__((cleanup(cleanup_dir))) DIR *d = NULL;
	int fd = io_open_beneath(store_staging_fd(s), ".", O_RDONLY | O_DIRECTORY, 0);
	const struct dirent *e;
	struct stat st;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		/* A session may end in the meantime. */
		if (e->d_name[0] == '.' ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		out->n++;
		out->bytes += st.st_blocks * 512;
	}
	return 0;
}

static int64_t size_of(struct store *s, const char *name, int64_t *n)
{
	struct stat st;

	if (fstatat(store_root_fd(s), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	++*n;
	return st.st_size;
}

void usage_of_database(struct store *s, int64_t *out_main, int64_t *out_wal)
{
	int64_t n = 0;

	*out_main = size_of(s, LAYOUT_DB, &n);
	*out_wal = size_of(s, LAYOUT_DB "-wal", &n);
}

static void sum_database(struct store *s, struct usage_part *out)
{
	out->bytes = size_of(s, LAYOUT_DB, &out->n);
	out->bytes += size_of(s, LAYOUT_DB "-wal", &out->n);
}

int usage_read(struct store *s, struct usage *out)
{
	struct db *db;
	int err = store_reader_get(s, &db);

	if (err)
		return err;
	err = usage_read_by(s, db, out);
	store_reader_put(s, db);
	return err;
}

int usage_read_by(struct store *s, struct db *db, struct usage *out)
{
	struct usage u = { .free_bytes = 0 };
	struct statvfs fs;
	int err = sum_content(db, &u);

	if (!err)
		err = sum_staging(s, &u.staging);
	if (!err)
		err = store_statvfs(s, &fs);
	if (err)
		return err;
	sum_database(s, &u.database);
	u.free_bytes = (int64_t)(fs.f_bavail * fs.f_frsize);
	u.total_bytes = (int64_t)(fs.f_blocks * fs.f_frsize);
	*out = u;
	return 0;
}
