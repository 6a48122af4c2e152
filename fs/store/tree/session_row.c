/* SPDX-License-Identifier: MIT */
/*
 * What became of each session, for who asks after it: also after a restart. Layer: store.
 */
#include "store/sqlite/db.h"
#include "store/tree/session_row.h"

#include <errno.h>

#define SESSION_KEEP 100000

/* Ended rows beyond the newest. Open ones stay; they are few. */
static int trim(struct db *db)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db,
		"DELETE FROM session WHERE n <= (SELECT max(n) FROM session) - ?1 AND outcome <>"
		" ?2",
		&st);

	if (err)
		return err;
	stmt_int(st, 1, SESSION_KEEP);
	stmt_int(st, 2, SESSION_OPEN);
	return stmt_run(st);
}

int session_row_add(struct db *db, const struct session_row *row)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db,
		"INSERT INTO session(id, path, token, owner, uid, opened, outcome, revision)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
		&st);

	if (err)
		return err;
	stmt_text(st, 1, row->id);
	stmt_path(st, 2, row->path);
	stmt_int(st, 3, row->token);
	stmt_text(st, 4, row->owner);
	stmt_int(st, 5, row->uid);
	stmt_int(st, 6, row->opened);
	stmt_int(st, 7, row->outcome);
	stmt_int(st, 8, row->revision);
	err = stmt_run(st);
	return err ? err : trim(db);
}

int session_row_end(struct db *db, const char *id, enum session_outcome outcome, int64_t revision)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, "UPDATE session SET outcome = ?2, revision = ?3 WHERE id = ?1", &st);

	if (err)
		return err;
	stmt_text(st, 1, id);
	stmt_int(st, 2, outcome);
	stmt_int(st, 3, revision);
	err = stmt_run(st);
	if (err)
		return err;
	return db_changes(db) == 1 ? 0 : -ENOENT;
}

static int load(struct stmt *st, struct session_row *r)
{
	int64_t outcome = stmt_get_int(st, 5);
	int err = stmt_get_str(st, 0, r->id, sizeof(r->id));

	if (!err)
		err = stmt_get_str(st, 1, r->path, sizeof(r->path));
	if (!err)
		err = stmt_get_str(st, 3, r->owner, sizeof(r->owner));
	if (outcome < SESSION_OPEN || outcome > SESSION_UNKNOWN)
		return -EUCLEAN;
	r->token = stmt_get_int(st, 2);
	r->uid = (uint32_t)stmt_get_int(st, 4);
	r->outcome = (enum session_outcome)outcome;
	r->revision = stmt_get_int(st, 6);
	r->opened = stmt_get_int(st, 7);
	return err;
}

int session_row_get(struct db *db, const char *id, struct session_row *out)
{
	auto_stmt struct stmt *st = NULL;
	struct session_row row;
	int res = db_stmt(
		db,
		"SELECT id, path, token, owner, uid, outcome, revision, opened FROM session WHERE"
		" id = ?1",
		&st);

	if (res)
		return res;
	stmt_text(st, 1, id);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -ENOENT;
	res = load(st, &row);
	if (!res)
		*out = row;
	return res;
}

/*
 * With the number itself, for the index of open ones: a mount must not take longer for what ended
 * before.
 */
_Static_assert(SESSION_OPEN == 0, "as the statement below and the index session_open have it");

int session_rows_abort_open(struct db *db)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, "UPDATE session SET outcome = ?1 WHERE outcome = 0", &st);

	if (err)
		return err;
	stmt_int(st, 1, SESSION_ABORTED);
	err = stmt_run(st);
	return err ? err : trim(db);
}
