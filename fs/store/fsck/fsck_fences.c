/* SPDX-License-Identifier: MIT */
/* Invariants 11 to 13: fences, leases, the token counter. Layer: store. */
#include "store/tree/event.h"
#include "store/fence/fence.h"
#include "store/fsck/fsck_impl.h"
#include "store/tree/entry.h"
#include "store/sqlite/setting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void take_path(struct fsck_finding *x, struct stmt *st, int column)
{
	if (stmt_get_str(st, column, x->path, sizeof(x->path)))
		snprintf(x->path, sizeof(x->path), "(unreadable path)");
}

static int lease_above(struct fsck *f, struct stmt *st, void *arg)
{
	int64_t token = stmt_get_int(st, 1);
	struct fsck_finding x;

	fsck_finding_init(&x, FSCK_TOKEN_COUNTER,
			  "a lease holds token %" PRId64 ", the counter stands at %" PRId64, token,
			  *(int64_t *)arg);
	take_path(&x, st, 0);
	x.action = FSCK_RAISE_COUNTER;
	x.number = token;
	return fsck_report(f, &x);
}

static int check_counter(struct fsck *f)
{
	int64_t counter = 0;
	int err = setting_get(f->db, "token", &counter);

	if (err == -ENOENT)
		err = 0;
	if (err)
		return fsck_survive(f, "table setting", err);
	return fsck_query_int(f, "table fence",
			      "SELECT path, token FROM fence WHERE lease_owner IS NOT NULL"
			      " AND token > ?1",
			      counter, lease_above, &counter);
}

static int bad_fence(struct fsck *f, struct stmt *st, void *arg)
{
	char path[FENCE_PATH_MAX + 1], normal[FENCE_PATH_MAX + 1];
	struct fsck_finding x;

	(void)arg;
	if (!stmt_get_int(st, 1) && stmt_get_str(st, 0, path, sizeof(path)) == 0 &&
	    path_normalise(path, normal, NULL) == 0 && strcmp(path, normal) == 0)
		return 0;
	fsck_finding_init(&x, FSCK_FENCE_FIELDS, "a row of fence is malformed");
	take_path(&x, st, 0);
	return fsck_report(f, &x);
}

static int check_fields(struct fsck *f)
{
	return fsck_query(f, "table fence",
			  "SELECT path, token < 0 OR seq < -1 OR length(owner) > 255"
			  " OR (lease_owner IS NULL) <> (lease_ttl IS NULL)"
			  " OR (lease_owner IS NULL) <> (lease_expires IS NULL)"
			  " OR ifnull(lease_ttl, 1) <= 0 FROM fence",
			  bad_fence, NULL);
}

/*
 * Was a fence ever lowered on purpose? 1: it was, or may have been, since the record does not reach
 * back to the beginning. On which path does not matter: a directory may have moved since.
 */
static int was_reset(struct fsck *f)
{
	auto_stmt struct stmt *st = NULL;
	int64_t first, last;
	int res = event_bounds(f->db, &first, &last);

	if (!res && first > 1)
		return 1;
	if (!res)
		res = db_stmt(f->db, "SELECT 1 FROM event WHERE kind = ?1 LIMIT 1", &st);
	if (res)
		return res;
	stmt_int(st, 1, EVENT_RESET);
	return stmt_step(st);
}

/* The directory whose files are looked at. */
struct over {
	int64_t dir;
	bool has_path;
	char path[FENCE_PATH_MAX + 1];
	struct fence_row highest;
};

static int enter(struct fsck *f, struct over *o, int64_t dir)
{
	int err;

	if (o->dir == dir)
		return 0;
	o->dir = dir;
	err = entry_path(f->db, dir, ENTRY_NOW, o->path);
	o->has_path = !err;
	if (!err)
		return fence_highest(f->db, o->path, &o->highest);
	return err == -ENOENT || err == -ELOOP || err == -ENAMETOOLONG ? 0 : err;
}

static int check_one(struct fsck *f, struct stmt *st, void *arg)
{
	struct over *o = arg;
	int64_t token = stmt_get_int(st, 3);
	char name[FENCE_NAME_MAX + 1], path[FENCE_PATH_MAX + 1];
	struct fence_row own = { .token = -1 };
	struct fsck_finding x;
	int err = enter(f, o, stmt_get_int(st, 1));

	if (err || !o->has_path || token <= o->highest.token)
		return err;
	if (stmt_get_str(st, 2, name, sizeof(name)) || path_join(o->path, name, path))
		return 0;
	err = fence_get(f->db, path, &own);
	if (err && err != -ENOENT)
		return err;
	if (token <= own.token)
		return 0;
	err = was_reset(f);
	if (err)
		return err < 0 ? err : 0;
	fsck_finding_init(&x, FSCK_FENCE_LOW,
			  "its token is %" PRId64 ", the fence over it stands at %" PRId64, token,
			  own.token > o->highest.token ? own.token : o->highest.token);
	fsck_name_row(f, stmt_get_int(st, 0), &x);
	x.action = FSCK_RAISE_FENCE;
	x.number = token;
	return fsck_report(f, &x);
}

int fsck_check_fences(struct fsck *f)
{
	struct over over = { .dir = -1 };
	int err = check_counter(f);

	if (!err)
		err = check_fields(f);
	if (!err)
		err = fsck_query(
			f, "table entry",
			"SELECT id, dir, name, token FROM entry"
			" WHERE died IS NULL AND kind <> 2 AND token > 0 ORDER BY dir, name",
			check_one, &over);
	return err;
}
