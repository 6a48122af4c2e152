/* SPDX-License-Identifier: MIT */
/*
 * Revisions: one row for each commit that changed the tree. Layer: store.
 */
#include "store/sqlite/changed.h"
#include "store/sqlite/db.h"
#include "store/tree/revision.h"

#include <errno.h>

#define REVISION_COLUMNS "revision, at, token, changed, path, owner, op, session"

int revision_current(struct db *db, int64_t *out)
{
	return db_int(db, "SELECT max(revision) FROM revision", out);
}

/* One row of a bound statement, whose columns come first. -ENOENT. */
static int load(struct stmt *st, struct revision *out)
{
	struct revision r;
	int res = stmt_step(st);

	if (res <= 0)
		return res ? res : -ENOENT;
	r.revision = stmt_get_int(st, 0);
	r.at = stmt_get_int(st, 1);
	r.token = stmt_get_int(st, 2);
	r.changed = stmt_get_int(st, 3);
	res = stmt_get_str(st, 4, r.path, sizeof(r.path));
	if (!res)
		res = stmt_get_str(st, 5, r.owner, sizeof(r.owner));
	if (!res)
		res = stmt_get_str(st, 6, r.op, sizeof(r.op));
	if (!res)
		res = stmt_get_str(st, 7, r.session, sizeof(r.session));
	if (!res)
		*out = r;
	return res;
}

int revision_get(struct db *db, int64_t revision, struct revision *out)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, "SELECT " REVISION_COLUMNS " FROM revision WHERE revision = ?1", &st);

	if (err)
		return err;
	stmt_int(st, 1, revision);
	return load(st, out);
}

/* Times follow revisions but for steps of the clock, so the search ends soon for recent times. */
int revision_at_time(struct db *db, int64_t at, int64_t newest, int64_t *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db,
			  "SELECT revision FROM revision WHERE revision <= ?1 AND at <= ?2"
			  " ORDER BY revision DESC LIMIT 1",
			  &st);

	if (res)
		return res;
	stmt_int(st, 1, newest);
	stmt_int(st, 2, at);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -ENOENT;
	*out = stmt_get_int(st, 0);
	return 0;
}

int revision_by_op(struct db *db, const char *path, const char *op, struct revision *out)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "SELECT " REVISION_COLUMNS " FROM revision WHERE path = ?1 AND op = ?2"
			  " ORDER BY revision LIMIT 1",
			  &st);

	if (err)
		return err;
	stmt_path(st, 1, path);
	stmt_text(st, 2, op);
	return load(st, out);
}

int revision_once(struct db *db, const char *path, int64_t token, struct revision *out)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "SELECT " REVISION_COLUMNS
			  " FROM revision WHERE path = ?1 AND token = ?2 AND once = 1"
			  " ORDER BY revision LIMIT 1",
			  &st);

	if (err)
		return err;
	stmt_path(st, 1, path);
	stmt_int(st, 2, token);
	return load(st, out);
}

int revision_add(struct db *db, const struct revision *r, bool once)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db,
		"INSERT INTO revision(revision, at, path, token, owner, op, session, changed, once)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
		&st);

	if (err)
		return err;
	stmt_int(st, 1, r->revision);
	stmt_int(st, 2, r->at);
	stmt_path(st, 3, r->path);
	stmt_int(st, 4, r->token);
	stmt_text(st, 5, r->owner);
	stmt_text(st, 6, r->op[0] ? r->op : NULL);
	stmt_text(st, 7, r->session[0] ? r->session : NULL);
	stmt_int(st, 8, r->changed);
	stmt_int(st, 9, once);
	err = stmt_run(st);
	if (err)
		return err;
	return changed_add(db,
			   (struct changed_row){ .kind = CHANGED_REVISION, .number = r->revision });
}
