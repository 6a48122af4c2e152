/* SPDX-License-Identifier: MIT */
/*
 * One pass of gc. Layer: store.
 *
 *   prune   what retention lets go, if it was asked for (prune.c)
 *   scan    read all that refers to content; mark what nothing refers to, with the time (gc_scan.c)
 *   files   the same for files in blobs/ that the tables do not know: of a crash (gc_files.c)
 *   sweep   remove what is marked, whose grace is over, and which is still not needed (gc_sweep.c)
 *   compact give free pages back
 *
 * Why a blob that is needed is never removed (P6):
 *
 *  - Entries refer to blobs, and nothing else does. M is the highest entry when the scan begins;
 *    ids of entries only go up. The scan reads all entries up to M, in pieces, each from its own
 *    snapshot: entries up to M can only go away meanwhile, and only this gc makes them.
 *  - Entries above M are read in the writer, at the beginning of each of its steps (gc_catch_up()).
 *    What they refer to counts as needed from then on. So within a step the writer knows every
 *    reference there is, and no other can come before the step is over.
 *  - A blob that a later entry is going to refer to is either referred to by an entry already, or
 *    it is pinned: from before its file is in blobs/ until the entry is durable.
 *  - Everything is read before the first thing is removed, and any error on the way ends the pass.
 *    What does not fit together (an entry whose blob is unknown, an index that has other rows than
 *    its table, a directory listing without its ends) is an error.
 *
 * A crash between the transaction of a sweep and the unlink leaves a file that no table knows: the
 * next pass finds it. A file is never gone while a row still names it.
 */
#include "store/gc/gc_impl.h"

#include "store/sqlite/db.h"
#include "store/generation.h"
#include "store/store.h"

#include "base/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *gc_stage_name(enum gc_stage stage)
{
	static const char *const names[GC_STAGES] = {
		[GC_PRUNE] = "prune", [GC_SCAN] = "scan",	[GC_FILES] = "files",
		[GC_SWEEP] = "sweep", [GC_COMPACT] = "compact",
	};

	return names[stage];
}

const char *garbage_kind_name(enum garbage_kind kind)
{
	static const char *const names[GARBAGE_KINDS] = {
		[GARBAGE_REFUSED] = "refused",
		[GARBAGE_CRASHED] = "crashed",
		[GARBAGE_PRUNED] = "pruned",
	};

	return names[kind];
}

int gc_step(struct gc *gc, enum gc_stage stage, int64_t done, int64_t total)
{
	struct gc_progress p = { .stage = stage, .done = done, .total = total };

	gc->env->progress(gc->env->arg, &p);
	return gc->env->should_stop(gc->env->arg) ? -EINTR : 0;
}

int gc_fail(struct gc *gc, int res, const char *what)
{
	if (res >= 0 || res == -EINTR || (gc->err && gc->err->s[0]))
		return res;
	return errmsg_set(gc->err, res, "%s: %s", what, strerror(-res));
}

int gc_rows_add(struct gc_rows *rows, int64_t row)
{
	if (rows->n == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 1024;
		int64_t *v = reallocarray(rows->v, room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		rows->v = v;
		rows->room = room;
	}
	rows->v[rows->n++] = row;
	return 0;
}

int gc_catch_up(struct gc *gc, struct db *db)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, "SELECT id, blob FROM entry WHERE id > ?1 ORDER BY id", &st);

	gc->young_seen = gc->young_row;
	if (res)
		return res;
	stmt_int(st, 1, gc->young_row);
	while ((res = stmt_step(st)) > 0) {
		struct blob_id id;
		int err = stmt_is_null(st, 1) ? 0 : stmt_get_bytes(st, 1, id.b, sizeof(id.b));

		if (!err && !stmt_is_null(st, 1))
			err = blob_set_add(&gc->young, &id);
		if (err)
			return err;
		gc->young_seen = stmt_get_int(st, 0);
	}
	return res;
}

/* An undone transaction gives the ids of its entries back: they must be read again. */
int gc_write(struct gc *gc, gc_write_fn fn, void *arg)
{
	int err = gc->env->write(gc->env->arg, fn, arg);

	if (!err)
		gc->young_row = gc->young_seen;
	return gc_fail(gc, err, "cannot write to the store's database");
}

bool gc_is_needed(struct gc *gc, const struct blob_id *id)
{
	return blob_set_has(&gc->young, id) || gc->env->is_pinned(gc->env->arg, id);
}

void gc_removed(struct gc *gc, const struct gc_item *item)
{
	gc->report->removed[item->kind].n++;
	gc->report->removed[item->kind].bytes += item->size;
}

struct begin {
	struct gc *gc;
	int64_t generation;
};

static int begin_step(struct db *db, void *arg)
{
	struct begin *b = arg;
	bool restored;
	int err = generation_advance(b->gc->s, db, &b->generation, &restored);

	return !err && b->gc->opt->after_restore ? generation_accept(db) : err;
}

/* A database that is older than the blobs would have us remove what it does not remember. */
static int check_generation(struct gc *gc)
{
	struct begin b = { .gc = gc };
	bool restored;
	int err = generation_is_restored(gc->s, gc->db, &restored);

	if (err)
		return gc_fail(gc, err, "cannot tell whether the database belongs to the blobs");
	if (restored && !gc->opt->after_restore)
		return errmsg_set(
			gc->err, -ECANCELED,
			"the database is older than the blobs, as after a restore from a backup: "
			"blobs of the lost commits would be taken for garbage; save what you "
			"need from blobs/, then run gc with --after-restore");
	gc->report->is_restored = restored;
	if (gc->opt->dry_run)
		return 0;
	err = gc_write(gc, begin_step, &b);
	if (!err)
		err = generation_write_file(gc->s, b.generation);
	return gc_fail(gc, err, "cannot write to the store");
}

/* Blobs first: what comes between the two queries has its entries above M, and is not looked at. */
static int read_bounds(struct gc *gc)
{
	int err = db_int(gc->db, "SELECT max(n) FROM blob", &gc->last_blob);

	if (!err)
		err = db_int(gc->db, "SELECT max(id) FROM entry", &gc->last_row);
	gc->young_row = gc->young_seen = gc->last_row;
	return gc_fail(gc, err, "cannot read the database");
}

static int find(struct gc *gc)
{
	int err = retention_is_empty(&gc->opt->keep) ? 0 : gc_prune_plan(gc);

	if (!err && !gc->opt->dry_run)
		err = gc_prune(gc);
	if (!err)
		err = read_bounds(gc);
	if (!err)
		err = gc_scan(gc);
	return err ? err : gc_files(gc);
}

static int run(struct gc *gc)
{
	int err = check_generation(gc);

	if (!err)
		err = find(gc);
	if (!err)
		err = gc_sweep(gc);
	if (!err && gc->env->is_offline)
		err = gc_staging(gc);
	if (!err && gc->opt->forget_fences)
		err = gc_forget_fences(gc);
	if (!err && !gc->opt->dry_run)
		err = gc_compact(gc);
	return err;
}

int gc_run(struct store *s, const struct gc_env *env, const struct gc_options *opt,
	   struct gc_report *report, struct errmsg *err)
{
	struct errmsg ignored;
	struct gc gc = {
		.s = s,
		.env = env,
		.opt = opt,
		.report = report,
		.err = err ? err : &ignored,
		.now = io_now_ns(),
	};
	int res;

	gc.err->s[0] = '\0';
	*report = (struct gc_report){ 0 };
	res = store_reader_open(s, &gc.db);
	if (res)
		return gc_fail(&gc, res, "cannot open the database");
	res = run(&gc);
	db_close(gc.db);
	free(gc.pruned.v);
	blob_set_fini(&gc.young);
	return gc_fail(&gc, res, "gc failed");
}
