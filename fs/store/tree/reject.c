/* SPDX-License-Identifier: MIT */
/*
 * Refused writes and where their content is (P9). Layer: store.
 */
#include "store/sqlite/db.h"
#include "store/tree/reject.h"

#include "base/io.h"

#include <errno.h>

#define REJECT_KEEP  10000 /* rows without content */
#define REJECT_BATCH 100   /* how many more there may be before they are trimmed */

#define REJECT_COLUMNS                                                                           \
	"id, at, path, held_path, token, highest, held_by, owner, op, session, stage, why, uid," \
	" blob, size"

static int trim(struct db *db)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "DELETE FROM reject WHERE blob IS NULL AND id <= (SELECT id FROM reject"
			  " WHERE blob IS NULL ORDER BY id DESC LIMIT 1 OFFSET ?1)",
			  &st);

	if (err)
		return err;
	stmt_int(st, 1, REJECT_KEEP);
	return stmt_run(st);
}

static void bind(struct stmt *st, const struct reject *r)
{
	stmt_int(st, 1, r->at);
	stmt_path(st, 2, r->path);
	stmt_path(st, 3, r->held_path);
	stmt_int(st, 4, r->token);
	stmt_int(st, 5, r->highest);
	stmt_text(st, 6, r->held_by);
	stmt_text(st, 7, r->owner);
	stmt_text(st, 8, r->op[0] ? r->op : NULL);
	stmt_text(st, 9, r->session[0] ? r->session : NULL);
	stmt_text(st, 10, r->stage);
	stmt_text(st, 11, r->why);
	stmt_int(st, 12, r->uid);
	if (r->has_blob)
		stmt_blob(st, 13, r->blob.b, sizeof(r->blob.b));
	stmt_int(st, 14, r->size);
}

int reject_add(struct db *db, struct reject *r)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db,
		"INSERT INTO reject(at, path, held_path, token, highest, held_by, owner, op,"
		" session, stage, why, uid, blob, size)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
		&st);

	if (err)
		return err;
	r->at = io_now_ns();
	bind(st, r);
	err = stmt_run(st);
	if (err)
		return err;
	r->id = db_last_rowid(db);
	return r->id % REJECT_BATCH ? 0 : trim(db);
}

static int load_text(struct stmt *st, struct reject *r)
{
	int err = stmt_get_str(st, 2, r->path, sizeof(r->path));

	if (!err)
		err = stmt_get_str(st, 3, r->held_path, sizeof(r->held_path));
	if (!err)
		err = stmt_get_str(st, 6, r->held_by, sizeof(r->held_by));
	if (!err)
		err = stmt_get_str(st, 7, r->owner, sizeof(r->owner));
	if (!err)
		err = stmt_get_str(st, 8, r->op, sizeof(r->op));
	if (!err)
		err = stmt_get_str(st, 9, r->session, sizeof(r->session));
	if (!err)
		err = stmt_get_str(st, 10, r->stage, sizeof(r->stage));
	return err ? err : stmt_get_str(st, 11, r->why, sizeof(r->why));
}

/* One row of a bound statement, whose columns come first. -ENOENT. */
static int load(struct stmt *st, struct reject *out)
{
	struct reject r = { 0 };
	int res = stmt_step(st);

	if (res <= 0)
		return res ? res : -ENOENT;
	res = load_text(st, &r);
	r.id = stmt_get_int(st, 0);
	r.at = stmt_get_int(st, 1);
	r.token = stmt_get_int(st, 4);
	r.highest = stmt_get_int(st, 5);
	r.uid = (uint32_t)stmt_get_int(st, 12);
	r.has_blob = !stmt_is_null(st, 13);
	if (!res && r.has_blob)
		res = stmt_get_bytes(st, 13, r.blob.b, sizeof(r.blob.b));
	r.size = stmt_get_int(st, 14);
	if (!res)
		*out = r;
	return res;
}

int reject_next(struct db *db, int64_t after, struct reject *out)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db, "SELECT " REJECT_COLUMNS " FROM reject WHERE id > ?1 ORDER BY id LIMIT 1", &st);

	if (err)
		return err;
	stmt_int(st, 1, after);
	return load(st, out);
}

int reject_before(struct db *db, int64_t before, struct reject *out)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "SELECT " REJECT_COLUMNS
			  " FROM reject WHERE id < ?1 ORDER BY id DESC LIMIT 1",
			  &st);

	if (err)
		return err;
	stmt_int(st, 1, before);
	return load(st, out);
}

int reject_get(struct db *db, int64_t id, struct reject *out)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, "SELECT " REJECT_COLUMNS " FROM reject WHERE id = ?1", &st);

	if (err)
		return err;
	stmt_int(st, 1, id);
	return load(st, out);
}

int reject_by_op(struct db *db, const char *path, const char *op, struct reject *out)
{
	auto_stmt struct stmt *st = NULL;
	/* The refused path may lie beneath the claimed one, which the session's row has. */
	int err = db_stmt(db,
			  "SELECT " REJECT_COLUMNS " FROM reject WHERE op = ?2 AND (path = ?1 OR"
			  " (SELECT s.path FROM session s WHERE s.id = reject.session) = ?1)"
			  " ORDER BY id DESC LIMIT 1",
			  &st);

	if (err)
		return err;
	stmt_path(st, 1, path);
	stmt_text(st, 2, op);
	err = load(st, out);
	if (err == -ENOENT)
		return 0;
	return err ? err : 1;
}
