/* SPDX-License-Identifier: MIT */
/*
 * Forgetting fences. They outlive what they stand on for a reason: as long as the row is there, a
 * job that was paused can never publish under a lower token (P1). Forgetting one gives that up for
 * its path, so it is done only when asked for, only for what is old, has no lease, and where
 * nothing is any more (a path that exists keeps its row, which its versions' tokens must not
 * exceed). Layer: store.
 */
#include "store/gc/gc_impl.h"

#include "store/sqlite/db.h"
#include "store/tree/entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fences {
	struct gc *gc;
	int64_t before; /* updated earlier than this, ns */
	char path[GC_BATCH][FENCE_PATH_MAX + 1];
	int n, forgotten;
};

static int is_gone(struct db *db, const char *path)
{
	struct entry e;
	int err = entry_resolve(db, path, ENTRY_NOW, &e);

	if (err == -ENOENT || err == -ENOTDIR)
		return 1;
	return err;
}

static int forget(struct db *db, struct fences *f, const char *path)
{
	auto_stmt struct stmt *st = NULL;
	int res = is_gone(db, path);

	if (res <= 0)
		return res;
	res = db_stmt(db,
		      "DELETE FROM fence WHERE path = ?1 AND updated < ?2 AND lease_owner IS NULL",
		      &st);
	if (res)
		return res;
	stmt_path(st, 1, path);
	stmt_int(st, 2, f->before);
	res = stmt_run(st);
	f->forgotten += !res && db_changes(db) > 0;
	return res;
}

static int forget_step(struct db *db, void *arg)
{
	struct fences *f = arg;
	int err = 0;

	f->forgotten = 0;
	for (int i = 0; i < f->n && !err; i++)
		err = forget(db, f, f->path[i]);
	return err;
}

/*
 * Old ones after @after whose path is gone; *after becomes the last one that was looked at. How
 * many were.
 */
static int read_some(struct fences *f, char *after)
{
	char from[FENCE_PATH_MAX + 1]; /* bound while *after moves on */
	auto_stmt struct stmt *st = NULL;
	int looked = 0, res = db_stmt(f->gc->db,
				      "SELECT path, updated, lease_owner FROM fence WHERE path > ?1"
				      " ORDER BY path LIMIT ?2",
				      &st);

	if (res)
		return res;
	f->n = 0;
	strcpy(from, after);
	stmt_path(st, 1, from);
	stmt_int(st, 2, GC_BATCH);
	while ((res = stmt_step(st)) > 0) {
		bool is_old = stmt_get_int(st, 1) < f->before && stmt_is_null(st, 2);
		int err = stmt_get_str(st, 0, after, FENCE_PATH_MAX + 1);

		if (err)
			return err;
		looked++;
		if (is_old)
			strcpy(f->path[f->n++], after);
	}
	return res < 0 ? res : looked;
}

static int forget_all(struct fences *f)
{
	char after[FENCE_PATH_MAX + 1] = "";
	int res;

	while ((res = read_some(f, after)) > 0) {
		if (f->gc->opt->dry_run) {
			for (int i = 0; i < f->n; i++)
				f->gc->report->fences += is_gone(f->gc->db, f->path[i]) > 0;
			continue;
		}
		res = f->n ? gc_write(f->gc, forget_step, f) : 0;
		if (res)
			return res;
		f->gc->report->fences += f->forgotten;
	}
	return res;
}

int gc_forget_fences(struct gc *gc)
{
	struct fences *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->gc = gc;
	f->before = gc->now - gc->opt->forget_fences;
	err = forget_all(f);
	free(f);
	return gc_fail(gc, err, "cannot forget fences");
}
