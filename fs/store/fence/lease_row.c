/* SPDX-License-Identifier: MIT */
/* See lease_row.h. Layer: store. */
#include "store/fence/lease_row.h"
#include "store/sqlite/db.h"
#include "store/fence/fence_range.h"
#include "store/sqlite/changed.h"
#include "store/sqlite/setting.h"

#include <errno.h>

#define COUNTER "token"

static int counter_get(struct db *db, int64_t *out)
{
	int err = setting_get(db, COUNTER, out);

	if (err == -ENOENT) {
		*out = 0;
		err = 0;
	}
	return err;
}

int lease_issue_token(struct db *db, const char *path, int64_t *out)
{
	struct fence_row above, beneath;
	int64_t token;
	int res = counter_get(db, &token);

	if (!res)
		res = fence_highest(db, path, &above);
	if (res < 0)
		return res;
	if (above.token > token)
		token = above.token;
	res = fence_beneath(db, path, token, &beneath);
	if (res < 0)
		return res;
	if (res > 0)
		token = beneath.token;
	if (token == INT64_MAX)
		return -ERANGE;
	token++;
	res = setting_set(db, COUNTER, token);
	if (!res)
		*out = token;
	return res;
}

static int tell(struct db *db, const char *path)
{
	return changed_add(db, (struct changed_row){ .kind = CHANGED_LEASE, .text = path });
}

int lease_set(struct db *db, const char *path, int64_t token, const char *owner, int64_t ttl,
	      int64_t expires_at)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "UPDATE fence SET lease_owner = ?3, lease_ttl = ?4, lease_expires = ?5"
			  " WHERE path = ?1 AND token = ?2",
			  &st);

	if (err)
		return err;
	stmt_path(st, 1, path);
	stmt_int(st, 2, token);
	stmt_text(st, 3, owner);
	stmt_int(st, 4, ttl);
	stmt_int(st, 5, expires_at);
	err = stmt_run(st);
	if (err)
		return err;
	return db_changes(db) == 1 ? tell(db, path) : -ESTALE;
}

int lease_clear(struct db *db, const char *path, int64_t token)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db,
		"UPDATE fence SET lease_owner = NULL, lease_ttl = NULL, lease_expires = NULL"
		" WHERE path = ?1 AND token = ?2",
		&st);

	if (err)
		return err;
	stmt_path(st, 1, path);
	stmt_int(st, 2, token);
	err = stmt_run(st);
	return err ? err : tell(db, path);
}

static int load(struct stmt *st, struct lease_row *out)
{
	int err = stmt_get_str(st, 0, out->path, sizeof(out->path));

	if (!err)
		err = stmt_get_str(st, 1, out->owner, sizeof(out->owner));
	out->token = stmt_get_int(st, 2);
	out->ttl = stmt_get_int(st, 3);
	if (out->token < 0 || out->ttl <= 0)
		return -EUCLEAN;
	return err;
}

int lease_each(struct db *db, lease_fn fn, void *arg)
{
	auto_stmt struct stmt *st = NULL;
	struct lease_row row;
	int res = db_stmt(db,
			  "SELECT path, lease_owner, token, lease_ttl FROM fence"
			  " WHERE lease_owner IS NOT NULL",
			  &st);

	if (res)
		return res;
	while ((res = stmt_step(st)) > 0) {
		res = load(st, &row);
		if (!res)
			res = fn(arg, &row);
		if (res)
			return res;
	}
	return res;
}
