/* SPDX-License-Identifier: MIT */
/* See tree_create.h. Layer: store, room tree. */
#include "store/tree/tree_create.h"
#include "store/sqlite/db.h"
#include "store/sqlite/setting.h"
#include "store/tree/entry.h"

static int add_root(struct db *db, uid_t uid, gid_t gid, int64_t now_ns)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db,
		"INSERT INTO entry(dir, name, born, seq, kind, child, size, mode, uid, gid, mtime,"
		" token, owner) VALUES(0, x'', 0, 1, ?1, ?2, 0, ?3, ?4, ?5, ?6, 0, '')",
		&st);

	if (err)
		return err;
	stmt_int(st, 1, ENTRY_DIR);
	stmt_int(st, 2, STORE_ROOT_DIR);
	stmt_int(st, 3, 0755);
	stmt_int(st, 4, uid);
	stmt_int(st, 5, gid);
	stmt_int(st, 6, now_ns);
	return stmt_run(st);
}

static int add_revision_zero(struct db *db, int64_t now_ns)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "INSERT INTO revision(revision, at, path, token, owner, changed, once)"
			  " VALUES(0, ?1, x'2e', 0, '', 1, 0)",
			  &st);

	if (err)
		return err;
	stmt_int(st, 1, now_ns);
	return stmt_run(st);
}

int tree_create(struct db *db, uid_t uid, gid_t gid, int64_t now_ns)
{
	int err = setting_set(db, "next_dir", STORE_ROOT_DIR + 1);

	if (!err)
		err = add_root(db, uid, gid, now_ns);
	return err ? err : add_revision_zero(db, now_ns);
}
