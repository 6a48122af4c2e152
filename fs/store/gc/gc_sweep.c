/* SPDX-License-Identifier: MIT */
/*
 * Removing what is marked, whose grace is over, and which is still not needed. In small steps of
 * the writer, so that commits come in between; a file goes when the step that forgot its row is
 * durable. Layer: store.
 */
#include "store/gc/gc_impl.h"

#include "store/blob/damaged.h"
#include "store/sqlite/db.h"
#include "store/blob/quota.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sweep {
	struct gc *gc;
	struct gc_batch batch;
	int64_t swept;
};

static int is_marked(struct db *db, const struct blob_id *id)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, "SELECT 1 FROM garbage WHERE blob = ?1", &st);

	if (res)
		return res;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	return stmt_step(st);
}

static int delete_by_id(struct db *db, const char *sql, const struct blob_id *id)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, sql, &st);

	if (err)
		return err;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	return stmt_run(st);
}

static int delete_row(struct db *db, struct gc_item *item)
{
	struct blob_info info;
	int err = blob_get(db, &item->id, false, &info);

	item->is_file = true;
	if (err == -ENOENT)
		return 0;
	if (err)
		return err;
	item->is_file = !info.is_inline;
	item->size = info.size;
	err = delete_by_id(db, "DELETE FROM blob WHERE id = ?1", &item->id);
	return err ? err : quota_add(db, -info.size);
}

static int sweep_one(struct gc *gc, struct db *db, struct gc_item *item)
{
	int res;

	item->done = false;
	if (gc_is_needed(gc, &item->id))
		return 0;
	res = is_marked(db, &item->id);
	if (res <= 0)
		return res;
	res = delete_row(db, item);
	if (!res)
		res = damaged_unmark(db, &item->id);
	if (!res)
		res = delete_by_id(db, "DELETE FROM reject WHERE blob = ?1", &item->id);
	if (!res && db_changes(db) > 0)
		item->kind = GARBAGE_REFUSED;
	if (!res)
		res = garbage_unmark(db, &item->id);
	item->done = !res;
	return res;
}

static int sweep_step(struct db *db, void *arg)
{
	struct gc_batch *b = arg;
	int err = gc_catch_up(b->gc, db);

	for (int i = 0; i < b->n && !err; i++)
		err = sweep_one(b->gc, db, &b->item[i]);
	return err;
}

/* Nobody knows the file any more. Should this fail, the next pass finds it. */
static int remove_file(struct gc *gc, struct gc_item *item)
{
	int err = item->is_file ? blob_remove(gc->s, &item->id) : 0;

	if (err == -ENOENT)
		err = 0;
	if (!err)
		gc_removed(gc, item);
	return gc_fail(gc, err, "cannot remove blobs that nothing refers to");
}

static int flush(struct sweep *s)
{
	struct gc_batch *b = &s->batch;
	int err, n = b->n;

	for (int i = 0; i < n; i++)
		if (blob_file_size(s->gc->s, &b->item[i].id, &b->item[i].size) < 0)
			b->item[i].size = 0;
	b->n = n;
	err = n ? gc_write(s->gc, sweep_step, b) : 0;
	for (int i = 0; i < n && !err; i++) {
		if (b->item[i].done)
			err = remove_file(s->gc, &b->item[i]);
		else
			s->gc->report->pinned++;
	}
	s->swept += n;
	b->n = 0;
	return err;
}

static int size_of(struct gc *gc, struct gc_item *item)
{
	struct blob_info info;
	int err = blob_get(gc->db, &item->id, false, &info);

	item->size = err ? 0 : info.size;
	if (err == -ENOENT)
		err = blob_file_size(gc->s, &item->id, &item->size);
	return err == -ENOENT ? 0 : err;
}

static int has_reject(struct gc *gc, const struct blob_id *id)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(gc->db, "SELECT 1 FROM reject WHERE blob = ?1", &st);

	if (res)
		return res;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	return stmt_step(st);
}

static void wait_for_grace(struct gc *gc, const struct gc_item *item)
{
	gc->report->waiting.n++;
	gc->report->waiting.bytes += item->size;
}

int gc_account(struct gc *gc, struct gc_item *item)
{
	int res = size_of(gc, item);

	if (!res)
		res = has_reject(gc, &item->id);
	if (res < 0)
		return res;
	if (res > 0)
		item->kind = GARBAGE_REFUSED;
	if (gc_is_due(gc, item->since))
		gc_removed(gc, item);
	else
		wait_for_grace(gc, item);
	return 0;
}

static int sweep_marks(struct sweep *s, const struct gc_item *mark, int n)
{
	int err = 0;

	for (int i = 0; i < n && !err; i++) {
		struct gc_item item = mark[i];

		if (gc_is_due(s->gc, item.since)) {
			s->batch.item[s->batch.n++] = item;
			err = s->batch.n == GC_BATCH ? flush(s) : 0;
			continue;
		}
		err = size_of(s->gc, &item);
		wait_for_grace(s->gc, &item);
	}
	return err;
}

/* All of the marks there are, in pieces. */
static int sweep_all(struct sweep *s, struct gc_item *mark)
{
	struct blob_id after = { .b = { 0 } };
	bool first = true;
	int64_t total = 0;
	int n, err = db_int(s->gc->db, "SELECT count(*) FROM garbage", &total);

	while (!err && (n = gc_load_marks(s->gc, &after, first, mark)) != 0) {
		if (n < 0)
			return n;
		after = mark[n - 1].id;
		first = false;
		err = gc_step(s->gc, GC_SWEEP, s->swept, total);
		if (!err)
			err = sweep_marks(s, mark, n);
	}
	return err ? err : flush(s);
}

int gc_sweep(struct gc *gc)
{
	struct gc_item *mark;
	struct sweep *s;
	int err;

	if (gc->opt->dry_run)
		return 0;
	mark = calloc(GC_BATCH, sizeof(*mark));
	s = calloc(1, sizeof(*s));
	if (s)
		s->gc = s->batch.gc = gc;
	err = s && mark ? sweep_all(s, mark) : -ENOMEM;
	free(s);
	free(mark);
	return gc_fail(gc, err, "cannot remove what nothing refers to");
}
