/* SPDX-License-Identifier: MIT */
/*
 * Which blobs are referred to: the rows of blob in pieces, in the order of their ids (which the
 * index blob_id gives without touching content), and for each piece one run over all entries. Two
 * million blobs take four runs and never more than GC_PIECE ids of memory. Layer: store.
 *
 * No query reads more than GC_ROWS rows, so that none keeps the WAL from being checkpointed.
 */
#include "store/gc/gc_impl.h"

#include "store/sqlite/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GC_PIECE 500000 /* ids at a time: 8 MB */

struct piece {
	struct gc *gc;
	struct blob_id *id; /* owned; ascending */
	uint8_t *used;	    /* owned; one bit each: an entry refers to it */
	size_t n;
	struct blob_id from; /* ids above this (with is_first: all) … */
	struct blob_id to;   /* … up to this (with is_last: to the end) belong here */
	bool is_first, is_last;
	struct gc_batch marks, unmarks;
};

static void cleanup_piece(struct piece **p)
{
	if (!*p)
		return;
	free((*p)->id);
	free((*p)->used);
	free(*p);
}

static int compare(const struct blob_id *a, const struct blob_id *b)
{
	return memcmp(a->b, b->b, sizeof(a->b));
}

static bool belongs(const struct piece *p, const struct blob_id *id)
{
	return (p->is_first || compare(id, &p->from) > 0) &&
	       (p->is_last || compare(id, &p->to) <= 0);
}

static bool is_used(const struct piece *p, size_t i)
{
	return p->used[i / 8] & 1 << i % 8;
}

static bool use(struct piece *p, const struct blob_id *id)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&p->id[middle], id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == p->n || compare(&p->id[low], id) != 0)
		return false;
	p->used[low / 8] |= (uint8_t)(1 << low % 8);
	return true;
}

/*
 * Up to @max ids after @after. Those of blobs that have come since the scan began count as used:
 * they are marked as such when they are loaded.
 */
static int load_some(struct piece *p, const struct blob_id *after, bool from_start, int max)
{
	auto_stmt struct stmt *st = NULL;
	int count = 0, res = db_stmt(p->gc->db,
				     "SELECT id, n FROM blob INDEXED BY blob_id WHERE id > ?1"
				     " ORDER BY id LIMIT ?2",
				     &st);

	if (res)
		return res;
	stmt_blob(st, 1, after->b, from_start ? 0 : sizeof(after->b));
	stmt_int(st, 2, max);
	while ((res = stmt_step(st)) > 0) {
		struct blob_id *id = &p->id[p->n];
		int err = stmt_get_bytes(st, 0, id->b, sizeof(id->b));

		if (err)
			return err;
		if (p->n && compare(&p->id[p->n - 1], id) >= 0)
			return -EUCLEAN;
		if (stmt_get_int(st, 1) > p->gc->last_blob)
			p->used[p->n / 8] |= (uint8_t)(1 << p->n % 8);
		p->n++;
		count++;
	}
	return res < 0 ? res : count;
}

/* The ids after p->from; is_last when these are all. */
static int load(struct piece *p)
{
	int res;

	p->n = 0;
	p->is_last = false;
	memset(p->used, 0, GC_PIECE / 8 + 1);
	do {
		size_t left = GC_PIECE - p->n;
		int max = left < GC_ROWS ? (int)left : GC_ROWS;

		res = load_some(p, p->n ? &p->id[p->n - 1] : &p->from, p->is_first && !p->n, max);
		if (res < 0)
			return res;
		p->is_last = res < max;
	} while (!p->is_last && p->n < GC_PIECE);
	if (p->n)
		p->to = p->id[p->n - 1];
	p->gc->report->blobs += (int64_t)p->n;
	return 0;
}

/* An entry's blob that is not there: damage. Which of the unreferenced it may be, nobody knows. */
static int dangles(struct gc *gc, int64_t row)
{
	return errmsg_set(
		gc->err, -EUCLEAN,
		"entry %lld refers to a blob that the store does not know: nothing is removed "
		"from a damaged store; run fence fsck",
		(long long)row);
}

static int compare_rows(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What a real run would have pruned before it came here. */
static bool is_gone(const struct gc *gc, int64_t row)
{
	return gc->opt->dry_run && gc->pruned.n &&
	       bsearch(&row, gc->pruned.v, gc->pruned.n, sizeof(row), compare_rows);
}

static int read_entry(struct piece *p, struct stmt *st, int64_t row)
{
	struct blob_id id;
	int err;

	if (stmt_is_null(st, 1))
		return 0;
	err = stmt_get_bytes(st, 1, id.b, sizeof(id.b));
	if (err || !belongs(p, &id) || is_gone(p->gc, row))
		return err;
	return use(p, &id) ? 0 : dangles(p->gc, row);
}

/* Entries after *row up to M; *row becomes the last one. How many. */
static int read_some(struct piece *p, int64_t *row)
{
	auto_stmt struct stmt *st = NULL;
	int count = 0, res = db_stmt(p->gc->db,
				     "SELECT id, blob FROM entry WHERE id > ?1 AND id <= ?2"
				     " ORDER BY id LIMIT ?3",
				     &st);

	if (res)
		return res;
	stmt_int(st, 1, *row);
	stmt_int(st, 2, p->gc->last_row);
	stmt_int(st, 3, GC_ROWS);
	while ((res = stmt_step(st)) > 0) {
		int err;

		*row = stmt_get_int(st, 0);
		err = read_entry(p, st, *row);
		if (err)
			return err;
		count++;
	}
	return res < 0 ? res : count;
}

static int read_entries(struct piece *p, int64_t *out_count)
{
	int64_t row = 0, count = 0;
	int res;

	do {
		res = read_some(p, &row);
		if (res < 0)
			return res;
		count += res;
		if (gc_step(p->gc, GC_SCAN, row, p->gc->last_row))
			return -EINTR;
	} while (res > 0);
	*out_count = count;
	return 0;
}

/* In a dry run only counted: what would be removed now, and what would wait. */
static int unmarked(struct piece *p, const struct blob_id *id)
{
	struct gc_item item = { .id = *id, .kind = GARBAGE_CRASHED };
	struct gc *gc = p->gc;

	if (gc->pruned.n)
		item.kind = GARBAGE_PRUNED;
	if (!gc->opt->dry_run)
		return gc_mark_add(&p->marks, &item);
	item.since = gc->now;
	return gc_account(gc, &item);
}

static int marked(struct piece *p, const struct gc_item *item, bool used)
{
	struct gc *gc = p->gc;
	struct gc_item again = *item;

	if (gc->opt->dry_run)
		return used ? 0 : gc_account(gc, &again);
	if (used)
		return gc_unmark_add(&p->unmarks, item);
	return item->since > gc->now ? gc_mark_add(&p->marks, item) : 0;
}

/* Blobs and marks go up in step. A mark without a blob is a matter of gc_files(). */
static int compare_marks(struct piece *p)
{
	struct gc_item mark[GC_BATCH] = { 0 };
	struct blob_id last;
	int n = gc_load_marks(p->gc, &p->from, p->is_first, mark), at = 0, err = 0;

	for (size_t i = 0; i < p->n && n >= 0 && !err; i++) {
		int order = -1;

		while (n > 0 && (order = compare(&mark[at].id, &p->id[i])) < 0) {
			if (++at < n)
				continue;
			last = mark[at - 1].id;
			n = gc_load_marks(p->gc, &last, false, mark);
			at = 0;
		}
		if (n < 0)
			break;
		if (n > 0 && order == 0)
			err = marked(p, &mark[at], is_used(p, i));
		else if (!is_used(p, i))
			err = unmarked(p, &p->id[i]);
	}
	if (n < 0)
		return n;
	if (!err)
		err = gc_mark_flush(&p->marks);
	return err ? err : gc_unmark_flush(&p->unmarks);
}

/*
 * The index over names has the rows that the table has, as far as M: else one of them is damaged.
 */
static int check_count(struct gc *gc, int64_t count)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(gc->db, "SELECT count(*) FROM entry INDEXED BY entry_past WHERE id <= ?1",
			  &st);

	if (res)
		return res;
	stmt_int(st, 1, gc->last_row);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -EUCLEAN;
	gc->report->entries = count;
	if (stmt_get_int(st, 0) == count)
		return 0;
	return errmsg_set(
		gc->err, -EUCLEAN,
		"table entry and its index differ: nothing is removed from a damaged store;"
		" run fence fsck");
}

static int scan_piece(struct piece *p)
{
	int64_t count = 0;
	int err = load(p);

	if (!err)
		err = read_entries(p, &count);
	if (!err && p->is_first)
		err = check_count(p->gc, count);
	return err ? err : compare_marks(p);
}

int gc_scan(struct gc *gc)
{
	__attribute__((cleanup(cleanup_piece))) struct piece *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->gc = p->marks.gc = p->unmarks.gc = gc;
	p->id = malloc(GC_PIECE * sizeof(*p->id));
	p->used = malloc(GC_PIECE / 8 + 1);
	if (!p->id || !p->used)
		return -ENOMEM;
	if (gc->opt->dry_run && gc->pruned.n)
		qsort(gc->pruned.v, gc->pruned.n, sizeof(*gc->pruned.v), compare_rows);
	p->is_first = true;
	do {
		err = scan_piece(p);
		p->is_first = false;
		p->from = p->to;
	} while (!err && !p->is_last);
	return gc_fail(gc, err, "cannot find out what is in use, so nothing is removed");
}
