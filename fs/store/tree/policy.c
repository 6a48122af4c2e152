/* SPDX-License-Identifier: MIT */
/* See policy.h. Layer: store. */
#include "store/tree/policy.h"
#include "store/sqlite/db.h"
#include "store/tree/record.h"

#include <errno.h>

#define TOTAL "blob_bytes" /* only while there is a limit */

const char *const policy_keep_names[RETAIN_KINDS] = {
	[RETAIN_LAST] = "keep_last",	   [RETAIN_HOURLY] = "keep_hourly",
	[RETAIN_DAILY] = "keep_daily",	   [RETAIN_WEEKLY] = "keep_weekly",
	[RETAIN_MONTHLY] = "keep_monthly", [RETAIN_YEARLY] = "keep_yearly",
};

/* A number that is not there is 0. */
static int get(struct db *db, const char *name, int64_t *out)
{
	int err = setting_get(db, name, out);

	if (err == -ENOENT) {
		*out = 0;
		err = 0;
	}
	if (!err && *out < 0)
		err = -EUCLEAN;
	return err;
}

static int drop(struct db *db, const char *name)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, "DELETE FROM setting WHERE name = ?1", &st);

	if (err)
		return err;
	stmt_text(st, 1, name);
	return stmt_run(st);
}

static int put(struct db *db, const char *name, int64_t value)
{
	return value ? setting_set(db, name, value) : drop(db, name);
}

int policy_get(struct db *db, struct policy *out)
{
	struct policy p = { 0 };
	int err = get(db, POLICY_WITHIN, &p.keep.within);

	for (int k = 0; k < RETAIN_KINDS && !err; k++)
		err = get(db, policy_keep_names[k], &p.keep.count[k]);
	if (!err)
		err = get(db, POLICY_MAX_SIZE, &p.max_size);
	if (!err)
		*out = p;
	return err;
}

static int add_up(struct db *db, int64_t *out)
{
	return db_int(db, "SELECT coalesce(sum(size), 0) FROM blob", out);
}

static int set_limit(struct db *db, int64_t max_size)
{
	int64_t total = 0;
	int err = put(db, POLICY_MAX_SIZE, max_size);

	if (err || !max_size)
		return err ? err : drop(db, TOTAL);
	err = setting_get(db, TOTAL, &total);
	if (err != -ENOENT)
		return err;
	err = add_up(db, &total);
	return err ? err : setting_set(db, TOTAL, total);
}

int policy_set(struct db *db, const struct policy *p)
{
	int err = put(db, POLICY_WITHIN, p->keep.within);

	for (int k = 0; k < RETAIN_KINDS && !err; k++)
		err = put(db, policy_keep_names[k], p->keep.count[k]);
	return err ? err : set_limit(db, p->max_size);
}

/* Writes nothing, and no page, where there is no limit. */
int quota_add(struct db *db, int64_t bytes)
{
	auto_stmt struct stmt *st = NULL;
	int err =
		db_stmt(db, "UPDATE setting SET value = value + ?1 WHERE name = '" TOTAL "'", &st);

	if (err)
		return err;
	stmt_int(st, 1, bytes);
	return stmt_run(st);
}

int quota_check(struct db *db)
{
	int64_t limit, total;
	int err = get(db, POLICY_MAX_SIZE, &limit);

	if (err || !limit)
		return err;
	err = setting_get(db, TOTAL, &total);
	if (err)
		return err == -ENOENT ? -EUCLEAN : err;
	return total > limit ? -ENOSPC : 0;
}

int quota_get(struct db *db, int64_t *out_limit, int64_t *out_used)
{
	int64_t limit, used = 0;
	int err = get(db, POLICY_MAX_SIZE, &limit);

	if (!err && limit)
		err = get(db, TOTAL, &used);
	if (err)
		return err;
	*out_limit = limit;
	*out_used = used;
	return 0;
}
