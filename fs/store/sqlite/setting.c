/* SPDX-License-Identifier: MIT */
/* See setting.h. Layer: store. */
#include "store/sqlite/setting.h"
#include "store/sqlite/db.h"

#include <errno.h>

int setting_get(struct db *db, const char *name, int64_t *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, "SELECT value FROM setting WHERE name = ?1", &st);

	if (res)
		return res;
	stmt_text(st, 1, name);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -ENOENT;
	*out = stmt_get_int(st, 0);
	return 0;
}

int setting_set(struct db *db, const char *name, int64_t value)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "INSERT INTO setting(name, value) VALUES(?1, ?2)"
			  " ON CONFLICT(name) DO UPDATE SET value = excluded.value",
			  &st);

	if (err)
		return err;
	stmt_text(st, 1, name);
	stmt_int(st, 2, value);
	return stmt_run(st);
}

int setting_drop(struct db *db, const char *name)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, "DELETE FROM setting WHERE name = ?1", &st);

	if (err)
		return err;
	stmt_text(st, 1, name);
	return stmt_run(st);
}
