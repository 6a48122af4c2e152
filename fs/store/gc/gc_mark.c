/* SPDX-License-Identifier: MIT */
/*
 * The marks: what is unreferenced, and since when. A mark starts the grace; it is taken back when
 * something refers to the blob after all. Layer: store.
 */
#include "store/gc/gc_impl.h"

#include "store/sqlite/db.h"

#include "base/io.h"

#include <errno.h>

/*
 * The last bit of a mark's time, a nanosecond, says which of two it is, for the report only: whose
 * version was pruned, or what was never published. What a reject row names was refused.
 */
#define PRUNED INT64_C(1)

/*
 * A time in the future (the clock was stepped back since) would never be over, and one of long ago
 * is believed: the wall clock is all that outlives a restart.
 */
static int mark(struct db *db, const struct gc_item *item, int64_t now)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "INSERT INTO garbage(blob, since) VALUES(?1, ?2)"
			  " ON CONFLICT(blob) DO UPDATE SET since = ?2 WHERE since > ?2",
			  &st);

	if (err)
		return err;
	stmt_blob(st, 1, item->id.b, sizeof(item->id.b));
	stmt_int(st, 2, (now & ~PRUNED) | (item->kind == GARBAGE_PRUNED ? PRUNED : 0));
	return stmt_run(st);
}

static int has_row(struct db *db, const struct blob_id *id)
{
	struct blob_info info;
	int err = blob_get(db, id, false, &info);

	return err == -ENOENT ? 0 : err ? err : 1;
}

/* A file without a row may have got one since it was listed; a row may not have gone away. */
static int mark_one(struct gc *gc, struct db *db, struct gc_item *item)
{
	int res;

	item->done = false;
	if (gc_is_needed(gc, &item->id))
		return 0;
	res = has_row(db, &item->id);
	if (res < 0 || (res > 0) == item->is_file)
		return res < 0 ? res : 0;
	item->done = true;
	return mark(db, item, gc->now);
}

static int mark_step(struct db *db, void *arg)
{
	struct gc_batch *b = arg;
	int err = gc_catch_up(b->gc, db);

	for (int i = 0; i < b->n && !err; i++)
		err = mark_one(b->gc, db, &b->item[i]);
	return err;
}

int gc_mark_flush(struct gc_batch *b)
{
	int err = b->n ? gc_write(b->gc, mark_step, b) : 0;

	for (int i = 0; i < b->n && !err; i++)
		b->gc->report->pinned += !b->item[i].done;
	b->n = 0;
	return err;
}

static int unmark_step(struct db *db, void *arg)
{
	struct gc_batch *b = arg;
	int err = 0;

	for (int i = 0; i < b->n && !err; i++)
		err = garbage_unmark(db, &b->item[i].id);
	return err;
}

int gc_unmark_flush(struct gc_batch *b)
{
	int err = b->n ? gc_write(b->gc, unmark_step, b) : 0;

	b->n = 0;
	return err;
}

int gc_mark_add(struct gc_batch *b, const struct gc_item *item)
{
	b->item[b->n++] = *item;
	return b->n == GC_BATCH ? gc_mark_flush(b) : 0;
}

int gc_unmark_add(struct gc_batch *b, const struct gc_item *item)
{
	b->item[b->n++] = *item;
	return b->n == GC_BATCH ? gc_unmark_flush(b) : 0;
}

int gc_load_marks(struct gc *gc, const struct blob_id *after, bool from_start,
		  struct gc_item out[GC_BATCH])
{
	auto_stmt struct stmt *st = NULL;
	int n = 0, res = db_stmt(gc->db,
				 "SELECT blob, since FROM garbage WHERE blob > ?1"
				 " ORDER BY blob LIMIT ?2",
				 &st);

	if (res)
		return res;
	stmt_blob(st, 1, after->b, from_start ? 0 : sizeof(after->b));
	stmt_int(st, 2, GC_BATCH);
	while (n < GC_BATCH && (res = stmt_step(st)) > 0) {
		int err = stmt_get_bytes(st, 0, out[n].id.b, sizeof(out[n].id.b));

		if (err)
			return err;
		out[n].since = stmt_get_int(st, 1);
		out[n].kind = out[n].since & PRUNED ? GARBAGE_PRUNED : GARBAGE_CRASHED;
		n++;
	}
	return res < 0 ? res : n;
}
