/* SPDX-License-Identifier: MIT */
/* See fsck_repair.h. Layer: store. */
#include "store/fsck/fsck_plan.h"
#include "store/sqlite/db.h"
#include "store/store.h"
#include "store/sqlite/txn.h"
#include "store/layout.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct fsck_plan *fsck_plan_new(void)
{
	return calloc(1, sizeof(struct fsck_plan));
}

void fsck_plan_free(struct fsck_plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free(p->step[i].path);
	free(p->step);
	free(p);
}

static int grow(struct fsck_plan *p)
{
	size_t room = p->room ? 2 * p->room : 64;
	struct fsck_step *step = realloc(p->step, room * sizeof(*step));

	if (!step)
		return -ENOMEM;
	p->step = step;
	p->room = room;
	return 0;
}

int fsck_plan_add(struct fsck_plan *p, const struct fsck_finding *x)
{
	struct fsck_step step = {
		.action = x->action,
		.row = x->row,
		.number = x->number,
		.has_blob = x->has_blob,
		.blob = x->blob,
	};

	p->is_hopeless = p->is_hopeless || x->rule == FSCK_DATABASE;
	if (x->action == FSCK_NOTHING || p->n == FSCK_PLAN_MAX)
		return 0;
	if (p->n == p->room && grow(p))
		return -ENOMEM;
	step.path = strdup(x->path);
	if (!step.path)
		return -ENOMEM;
	p->step[p->n++] = step;
	return 0;
}

size_t fsck_plan_size(const struct fsck_plan *p)
{
	return p->n;
}

bool fsck_plan_is_hopeless(const struct fsck_plan *p)
{
	return p->is_hopeless;
}

/* STORE/lost+found as a descriptor. */
static int open_lost_found(struct store *s)
{
	int root = store_root_fd(s);

	if (mkdirat(root, LAYOUT_LOST_FOUND, 0700) < 0 && errno != EEXIST)
		return -errno;
	return io_open_beneath(root, LAYOUT_LOST_FOUND, O_RDONLY | O_DIRECTORY, 0);
}

static int record(struct store *s, const struct fsck_plan *p, int lost)
{
	auto_fd int fd = -1;
	char name[40];
	int err;

	snprintf(name, sizeof(name), "repair-%" PRId64, io_now_ns());
	fd = io_open_beneath(lost, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return fd;
	err = fsck_record_rows(store_writer(s), p, fd);
	if (!err)
		err = io_fsync(fd);
	if (!err)
		err = io_fsync(lost);
	return err ? err : io_fsync(store_root_fd(s));
}

/* What has the name of the blob, be it a file or not. It may be gone already. */
static int move_file(struct store *s, const struct blob_id *id, int lost)
{
	struct blob_hex hex = blob_hex(id->b);
	char from[40], to[64];

	snprintf(from, sizeof(from), "%.2s/%s", hex.s, hex.s);
	snprintf(to, sizeof(to), "%s", hex.s);
	for (int i = 1;; i++) {
		if (renameat2(store_blobs_fd(s), from, lost, to, RENAME_NOREPLACE) == 0 ||
		    errno == ENOENT)
			return 0;
		if (errno != EEXIST || i == 1000)
			return -errno;
		snprintf(to, sizeof(to), "%s.%d", hex.s, i); /* damaged before, and put back */
	}
}

static int move_files(struct store *s, const struct fsck_plan *p, int lost)
{
	struct blob_dirs dirs = { { 0 } };
	bool any = false;
	int err = 0;

	for (size_t i = 0; !err && i < p->n; i++) {
		if (p->step[i].action != FSCK_SET_FILE_ASIDE)
			continue;
		err = move_file(s, &p->step[i].blob, lost);
		blob_dirs_add(&dirs, &p->step[i].blob);
		any = true;
	}
	if (!err && any)
		err = io_fsync(lost);
	return err ? err : blob_sync_dirs(s, &dirs);
}

static int change_tables(struct store *s, const struct fsck_plan *p)
{
	struct db *db = store_writer(s);
	int err = txn_begin(db);

	if (err)
		return err;
	err = fsck_repair_tables(db, p);
	if (err) {
		txn_rollback(db);
		return err;
	}
	return txn_commit(db);
}

int fsck_repair(struct store *s, const struct fsck_plan *p, struct errmsg *err)
{
	auto_fd int lost = -1;
	int res;

	if (p->is_hopeless)
		return errmsg_set(err, -EUCLEAN,
				  "the database itself is damaged: restore it from a backup");
	lost = open_lost_found(s);
	if (lost < 0)
		return errmsg_set(err, lost, "cannot make %s/" LAYOUT_LOST_FOUND ": %s",
				  store_path(s), strerror(-lost));
	res = record(s, p, lost);
	if (res)
		return errmsg_set(err, res, "cannot write to %s/" LAYOUT_LOST_FOUND ": %s",
				  store_path(s), strerror(-res));
	res = move_files(s, p, lost);
	if (res)
		return errmsg_set(err, res, "cannot move a blob to %s/" LAYOUT_LOST_FOUND ": %s",
				  store_path(s), strerror(-res));
	res = change_tables(s, p);
	if (res)
		return errmsg_set(err, res, "cannot change the database: %s", strerror(-res));
	return 0;
}
