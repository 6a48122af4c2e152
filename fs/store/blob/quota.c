/* SPDX-License-Identifier: MIT */
/* See quota.h. Layer: store, room blob. */
#include "store/blob/quota.h"
#include "store/sqlite/db.h"
#include "store/sqlite/setting.h"

#include <errno.h>

#define LIMIT "max_size"
#define TOTAL "blob_bytes" /* only while there is a limit */

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

static int add_up(struct db *db, int64_t *out)
{
	return db_int(db, "SELECT coalesce(sum(size), 0) FROM blob", out);
}

int quota_set(struct db *db, int64_t limit)
{
	int64_t total = 0;
	int err = limit ? setting_set(db, LIMIT, limit) : setting_drop(db, LIMIT);

	if (err || !limit)
		return err ? err : setting_drop(db, TOTAL);
	err = setting_get(db, TOTAL, &total);
	if (err != -ENOENT)
		return err;
	err = add_up(db, &total);
	return err ? err : setting_set(db, TOTAL, total);
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
	int err = get(db, LIMIT, &limit);

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
	int err = get(db, LIMIT, &limit);

	if (!err && limit)
		err = get(db, TOTAL, &used);
	if (err)
		return err;
	*out_limit = limit;
	*out_used = used;
	return 0;
}
