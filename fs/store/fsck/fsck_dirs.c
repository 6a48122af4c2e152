/* SPDX-License-Identifier: MIT */
/*
 * Invariants 6 to 8, 10 and 19: directories and how they hang together. Layer: store.
 *
 * That every directory is reached from the root is found by going up from each, to one that is
 * known to be reached: one bit for each id, and every entry of a directory is looked up about once.
 */
#include "store/tree/entry_row.h"
#include "store/fsck/fsck_impl.h"
#include "store/sqlite/setting.h"
#include "store/store.h"

#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>

#define BITMAP_MAX (INT64_C(1) << 32) /* ids that have a bit: half a GiB at the worst */
#define DEPTH_MAX  (FENCE_PATH_MAX / 2 + 1)

struct dir_row {
	int64_t row, child, until, born;
};

static int next_place(struct fsck *f, struct stmt *st, void *arg)
{
	struct dir_row *last = arg;
	struct dir_row d = {
		.row = stmt_get_int(st, 0),
		.child = stmt_get_int(st, 1),
		.born = stmt_get_int(st, 2),
		.until = stmt_is_null(st, 3) ? INT64_MAX : stmt_get_int(st, 3),
	};
	bool twice = last->row && last->child == d.child && last->until > d.born;
	struct fsck_finding x;

	if (twice)
		fsck_finding_init(&x, FSCK_ONE_PLACE,
				  "directory %" PRId64 " has two entries at revision %" PRId64
				  ": rows %" PRId64 " and %" PRId64,
				  d.child, d.born, last->row, d.row);
	*last = d;
	if (!twice)
		return 0;
	fsck_name_row(f, d.row, &x);
	return fsck_report(f, &x);
}

static int check_root(struct fsck *f)
{
	struct fsck_finding x;
	struct entry root;
	int err = entry_find_child(f->db, STORE_ROOT_DIR, ENTRY_NOW, &root);

	if (err != -ENOENT && (err || root.dir == 0))
		return fsck_survive(f, "the root", err);
	fsck_finding_init(&x, FSCK_ONE_PLACE, "the root directory has no entry of its own");
	return fsck_report(f, &x);
}

static int no_parent(struct fsck *f, struct stmt *st, void *arg)
{
	int64_t dir = stmt_get_int(st, 0);
	struct fsck_finding x;

	(void)arg;
	fsck_finding_init(&x, FSCK_PARENT,
			  "directory %" PRId64 " is not there, but %" PRId64
			  " names are current in it",
			  dir, stmt_get_int(st, 1));
	fsck_name_row(f, stmt_get_int(st, 2), &x);
	x.action = FSCK_MAKE_DIR;
	x.number = dir;
	return fsck_report(f, &x);
}

static int no_past_parent(struct fsck *f, struct stmt *st, void *arg)
{
	int64_t n = stmt_get_int(st, 0);
	struct fsck_finding x;

	(void)arg;
	if (n == 0)
		return 0;
	fsck_finding_init(&x, FSCK_PAST,
			  "%" PRId64 " past versions are in directories whose past is gone", n);
	fsck_name_row(f, stmt_get_int(st, 1), &x);
	return fsck_report(f, &x);
}

/* Which directories are known to be reached. */
struct reached {
	uint64_t *bits; /* owned */
	int64_t n;
};

static bool is_reached(const struct reached *r, int64_t dir)
{
	if (dir == STORE_ROOT_DIR)
		return true;
	return dir > 0 && dir < r->n && r->bits[dir / 64] & UINT64_C(1) << (dir % 64);
}

static int parent_of(struct fsck *f, int64_t dir, int64_t *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(f->db, "SELECT dir FROM entry WHERE child = ?1 AND died IS NULL", &st);

	if (res)
		return res;
	stmt_int(st, 1, dir);
	res = stmt_step(st);
	if (res > 0)
		*out = stmt_get_int(st, 0);
	return res;
}

static int report_unreached(struct fsck *f, int64_t row, int64_t dir, bool is_cycle)
{
	struct fsck_finding x;

	fsck_finding_init(&x, FSCK_REACHED,
			  is_cycle ? "directory %" PRId64 " is beneath itself" :
				     "directory %" PRId64 " is too deep to have a path",
			  dir);
	fsck_name_row(f, row, &x);
	x.action = FSCK_REHOME;
	return fsck_report(f, &x);
}

static int go_up(struct fsck *f, struct stmt *st, void *arg)
{
	struct reached *r = arg;
	int64_t dir = stmt_get_int(st, 1), at = stmt_get_int(st, 2);
	int res = 1;

	f->totals.dirs++;
	for (int depth = 0; !is_reached(r, at) && depth < DEPTH_MAX; depth++) {
		if (at == dir)
			return report_unreached(f, stmt_get_int(st, 0), dir, true);
		res = parent_of(f, at, &at);
		if (res < 0)
			return res;
		if (res == 0) /* invariant 7 tells of the directory that is missing */
			return 0;
	}
	/* In a cycle further up, or too deep. The cycle itself is told of by those within. */
	if (!is_reached(r, at))
		return 0;
	if (dir > 0 && dir < r->n)
		r->bits[dir / 64] |= UINT64_C(1) << (dir % 64);
	return 0;
}

static int check_reached(struct fsck *f, int64_t next_dir)
{
	struct reached r = { .n = next_dir < BITMAP_MAX ? next_dir : BITMAP_MAX };
	auto_free uint64_t *bits = calloc((size_t)(r.n / 64 + 1), sizeof(*bits));

	if (!bits)
		return -ENOMEM;
	r.bits = bits;
	return fsck_query(f, "table entry",
			  "SELECT id, child, dir FROM entry WHERE child > 1 AND died IS NULL"
			  " ORDER BY child",
			  go_up, &r);
}

static int above_next(struct fsck *f, struct stmt *st, void *arg)
{
	int64_t id = stmt_get_int(st, 1);
	struct fsck_finding x;

	fsck_finding_init(&x, FSCK_NEXT_DIR,
			  "directory %" PRId64 " is not below the next id to be given, %" PRId64,
			  id, *(int64_t *)arg);
	fsck_name_row(f, stmt_get_int(st, 0), &x);
	x.action = FSCK_RAISE_NEXT_DIR;
	x.number = id + 1;
	return fsck_report(f, &x);
}

static int no_dir(struct fsck *f, struct stmt *st, void *arg)
{
	struct fsck_finding x;

	(void)arg;
	fsck_finding_init(&x, FSCK_DIRTIME,
			  "%" PRId64 " times belong to directory %" PRId64 ", which never was",
			  stmt_get_int(st, 1), stmt_get_int(st, 0));
	x.action = FSCK_DROP_DIRTIME;
	x.number = stmt_get_int(st, 0);
	return fsck_report(f, &x);
}

static int check_next_dir(struct fsck *f, int64_t *out)
{
	int err = setting_get(f->db, "next_dir", out);

	if (err == -ENOENT || (!err && *out < STORE_ROOT_DIR + 1)) {
		*out = STORE_ROOT_DIR + 1;
		err = 0;
	}
	if (err)
		return fsck_survive(f, "table setting", err);
	return fsck_query_int(f, "table entry",
			      "SELECT id, child FROM entry WHERE child >= ?1 ORDER BY child", *out,
			      above_next, out);
}

int fsck_check_dirs(struct fsck *f)
{
	struct dir_row last = { 0 };
	int64_t next_dir = STORE_ROOT_DIR + 1;
	int err = fsck_query(f, "table entry",
			     "SELECT id, child, born, died FROM entry WHERE child IS NOT NULL"
			     " ORDER BY child, born",
			     next_place, &last);

	if (!err)
		err = check_root(f);
	if (!err)
		err = fsck_query(
			f, "table entry",
			"SELECT e.dir, count(*), min(e.id) FROM entry e"
			" WHERE e.died IS NULL AND e.dir <> 0 GROUP BY e.dir HAVING NOT EXISTS"
			" (SELECT 1 FROM entry d WHERE d.child = e.dir AND d.died IS NULL)",
			no_parent, NULL);
	if (!err)
		err = fsck_query(
			f, "table entry",
			"SELECT count(*), min(e.id) FROM entry e"
			" WHERE e.died IS NOT NULL AND e.dir <> 0 AND NOT EXISTS"
			" (SELECT 1 FROM entry d WHERE d.child = e.dir AND d.born <= e.born"
			" AND (d.died IS NULL OR d.died > e.born))",
			no_past_parent, NULL);
	if (!err)
		err = check_next_dir(f, &next_dir);
	if (!err)
		err = check_reached(f, next_dir);
	if (!err)
		err = fsck_query(
			f, "table dirtime",
			"SELECT t.dir, count(*) FROM dirtime t GROUP BY t.dir HAVING NOT EXISTS"
			" (SELECT 1 FROM entry e WHERE e.child = t.dir)",
			no_dir, NULL);
	return err;
}
