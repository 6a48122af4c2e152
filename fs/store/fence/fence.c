/* SPDX-License-Identifier: MIT */
/*
 * Looking up fences (P1). Layer: store.
 *
 * A row stands for its path and for all beneath it, so highest(p) takes one lookup by key for each
 * level from p up to the root; nothing beneath p counts. Rows are keyed by path and know nothing of
 * entries, so they outlive what is at the path.
 */
#include "store/fence/fence.h"
#include "store/sqlite/db.h"
#include "store/fence/fence_range.h"

#include <errno.h>
#include <string.h>

#define FENCE_COLUMNS "path, token, updated, seq, owner"

static int load(struct stmt *st, struct fence_row *out)
{
	int err = stmt_get_str(st, 0, out->path, sizeof(out->path));

	if (!err)
		err = stmt_get_str(st, 4, out->owner, sizeof(out->owner));
	out->token = stmt_get_int(st, 1);
	out->updated = stmt_get_int(st, 2);
	out->seq = stmt_get_int(st, 3);
	if (out->token < 0 || out->seq < -1)
		return -EUCLEAN;
	return err;
}

/* The row of @path as *out: 1, or 0 when it has none. */
static int get(struct db *db, const char *path, struct fence_row *out)
{
	auto_stmt struct stmt *st = NULL;
	struct fence_row row;
	int res = db_stmt(db, "SELECT " FENCE_COLUMNS " FROM fence WHERE path = ?1", &st);

	if (res)
		return res;
	stmt_path(st, 1, path);
	res = stmt_step(st);
	if (res <= 0)
		return res;
	res = load(st, &row);
	if (res)
		return res;
	*out = row;
	return 1;
}

int fence_get(struct db *db, const char *path, struct fence_row *out)
{
	int res = get(db, path, out);

	if (res < 0)
		return res;
	return res ? 0 : -ENOENT;
}

int fence_highest(struct db *db, const char *path, struct fence_row *out)
{
	struct fence_row best = { .token = -1, .seq = -1 };
	char at[FENCE_PATH_MAX + 1];
	bool is_root = false;

	if (strlen(path) > FENCE_PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(at, path, strlen(path) + 1);
	while (!is_root) {
		struct fence_row row;
		char *slash = strrchr(at, '/');
		int res = get(db, at, &row);

		if (res < 0)
			return res;
		/* Of equal rows the one nearest to the path is named: it says best why. */
		if (res > 0 && row.token > best.token)
			best = row;
		is_root = strcmp(at, ".") == 0;
		if (slash)
			*slash = '\0';
		else
			memcpy(at, ".", 2);
	}
	*out = best;
	return 0;
}

int fence_range(const char *path, struct fence_range *out)
{
	size_t len = strlen(path);

	if (len > FENCE_PATH_MAX)
		return -ENAMETOOLONG;
	/*
	 * No path begins with '/', and '0' follows '/'. Beneath the root: up to more 0xff than a
	 * path has.
	 */
	if (strcmp(path, ".") == 0) {
		*out = (struct fence_range){ .low_len = 0, .high_len = FENCE_PATH_MAX + 2 };
		memset(out->high, 0xff, out->high_len);
		return 0;
	}
	memcpy(out->low, path, len);
	memcpy(out->high, path, len);
	out->low[len] = '/';
	out->high[len] = '/' + 1;
	out->low_len = out->high_len = len + 1;
	return 0;
}

void fence_bind_range(struct stmt *st, const struct fence_range *r)
{
	stmt_blob(st, 1, r->low, r->low_len);
	stmt_blob(st, 2, r->high, r->high_len);
}

int fence_beneath(struct db *db, const char *path, int64_t above, struct fence_row *out)
{
	auto_stmt struct stmt *st = NULL;
	struct fence_range range;
	struct fence_row row;
	int res = fence_range(path, &range);

	if (!res)
		res = db_stmt(db,
			      "SELECT " FENCE_COLUMNS
			      " FROM fence WHERE path > ?1 AND path < ?2 AND path <> x'2e'"
			      " AND token > ?3 ORDER BY token DESC LIMIT 1",
			      &st);
	if (res)
		return res;
	fence_bind_range(st, &range);
	stmt_int(st, 3, above);
	res = stmt_step(st);
	if (res <= 0)
		return res;
	res = load(st, &row);
	if (res)
		return res;
	*out = row;
	return 1;
}
