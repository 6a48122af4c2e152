/* SPDX-License-Identifier: MIT */
/*
 * What a version has beside its entry: link target, origin, extended attributes. Layer: store.
 */
#include "store/tree/entry.h"

#include "base/cleanup.h"
#include "store/sqlite/db.h"

#include <errno.h>

#define XATTR_NAME_MAX 255

int entry_target(struct db *db, int64_t row, char **out)
{
	auto_stmt struct stmt *st = NULL;
	void *copy;
	size_t len;
	int res = db_stmt(db, "SELECT target FROM entry WHERE id = ?1 AND kind = ?2", &st);

	if (res)
		return res;
	stmt_int(st, 1, row);
	stmt_int(st, 2, ENTRY_SYMLINK);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -ENOENT;
	res = stmt_get_copy(st, 0, &copy, &len);
	if (!res)
		*out = copy;
	return res;
}

static int load_origin(struct stmt *st, struct entry_origin *o)
{
	int err = stmt_get_str(st, 2, o->owner, sizeof(o->owner));

	if (!err)
		err = stmt_get_str(st, 3, o->op, sizeof(o->op));
	o->token = stmt_get_int(st, 0);
	o->revision = stmt_get_int(st, 1);
	o->at = stmt_get_int(st, 4);
	return err;
}

int entry_origin(struct db *db, int64_t row, struct entry_origin *out)
{
	auto_stmt struct stmt *st = NULL;
	struct entry_origin o;
	int res = db_stmt(db,
			  "SELECT e.token, e.born, e.owner, e.op, r.at FROM entry e"
			  " LEFT JOIN revision r ON r.revision = e.born WHERE e.id = ?1",
			  &st);

	if (res)
		return res;
	stmt_int(st, 1, row);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -ENOENT;
	res = load_origin(st, &o);
	if (!res)
		*out = o;
	return res;
}

int entry_xattr_get(struct db *db, int64_t row, const char *name, void **out, size_t *out_len)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, "SELECT value FROM xattr WHERE entry = ?1 AND name = ?2", &st);

	if (res)
		return res;
	stmt_int(st, 1, row);
	stmt_path(st, 2, name);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -ENODATA;
	return stmt_get_copy(st, 0, out, out_len);
}

int entry_xattr_each(struct db *db, int64_t row, entry_xattr_fn fn, void *arg)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, "SELECT name, value FROM xattr WHERE entry = ?1 ORDER BY name", &st);

	if (res)
		return res;
	stmt_int(st, 1, row);
	while ((res = stmt_step(st)) > 0) {
		char name[XATTR_NAME_MAX + 1];
		auto_free void *value = NULL;
		size_t len;

		res = stmt_get_str(st, 0, name, sizeof(name));
		if (!res)
			res = stmt_get_copy(st, 1, &value, &len);
		if (!res)
			res = fn(arg, name, value, len);
		if (res)
			return res;
	}
	return res;
}
