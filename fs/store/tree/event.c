/* SPDX-License-Identifier: MIT */
/* See event.h. Layer: store. */
#include "store/tree/event.h"
#include "base/io.h"
#include "store/sqlite/changed.h"
#include "store/sqlite/db.h"
#include "store/tree/revision.h"

#include <errno.h>

#define TRIM_EVERY 1024

static int trim(struct db *db, int64_t newest)
{
	auto_stmt struct stmt *st = NULL;
	int err;

	if (newest % TRIM_EVERY)
		return 0;
	err = db_stmt(db, "DELETE FROM event WHERE id <= ?1", &st);
	if (err)
		return err;
	stmt_int(st, 1, newest - EVENT_KEEP);
	return stmt_run(st);
}

static int insert(struct db *db, const struct event *e)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db,
		"INSERT INTO event(at, kind, revision, path, token, owner, uid, highest, other,"
		" detail, n) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
		&st);

	if (err)
		return err;
	stmt_int(st, 1, e->at);
	stmt_int(st, 2, e->kind);
	stmt_int(st, 3, e->revision);
	stmt_path(st, 4, e->path);
	stmt_int(st, 5, e->token);
	stmt_text(st, 6, e->owner);
	stmt_int(st, 7, e->uid);
	stmt_int(st, 8, e->highest);
	stmt_text(st, 9, e->other);
	stmt_text(st, 10, e->detail);
	stmt_int(st, 11, e->n);
	return stmt_run(st);
}

int event_add(struct db *db, struct event *e)
{
	int err = 0;

	e->at = io_now_ns();
	if (e->kind != EVENT_COMMIT)
		err = revision_current(db, &e->revision);
	if (!err)
		err = insert(db, e);
	if (err)
		return err;
	e->id = db_last_rowid(db);
	err = changed_add(db, (struct changed_row){ .kind = CHANGED_EVENT });
	return err ? err : trim(db, e->id);
}

static int load_texts(struct stmt *st, struct event *e)
{
	int err = stmt_get_str(st, 4, e->path, sizeof(e->path));

	if (!err)
		err = stmt_get_str(st, 6, e->owner, sizeof(e->owner));
	if (!err)
		err = stmt_get_str(st, 9, e->other, sizeof(e->other));
	if (!err)
		err = stmt_get_str(st, 10, e->detail, sizeof(e->detail));
	return err;
}

static int load(struct stmt *st, struct event *e)
{
	int64_t kind = stmt_get_int(st, 2);

	e->id = stmt_get_int(st, 0);
	e->at = stmt_get_int(st, 1);
	e->revision = stmt_get_int(st, 3);
	e->token = stmt_get_int(st, 5);
	e->uid = (uint32_t)stmt_get_int(st, 7);
	e->highest = stmt_get_int(st, 8);
	e->n = stmt_get_int(st, 11);
	if (kind < EVENT_COMMIT || kind > EVENT_KIND_LAST)
		return -EUCLEAN;
	e->kind = (enum event_kind)kind;
	return load_texts(st, e);
}

int event_next(struct db *db, int64_t after, struct event *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(
		db,
		"SELECT id, at, kind, revision, path, token, owner, uid, highest, other, detail, n"
		" FROM event WHERE id > ?1 ORDER BY id LIMIT 1",
		&st);

	if (res)
		return res;
	stmt_int(st, 1, after);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -ENOENT;
	return load(st, out);
}

int event_bounds(struct db *db, int64_t *out_first, int64_t *out_last)
{
	auto_stmt struct stmt *st = NULL;
	int res =
		db_stmt(db, "SELECT (SELECT min(id) FROM event), (SELECT max(id) FROM event)", &st);

	if (res)
		return res;
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -EUCLEAN;
	*out_first = stmt_get_int(st, 0);
	*out_last = stmt_get_int(st, 1);
	return 0;
}

int event_since(struct db *db, int64_t revision, int64_t *out_id, bool *out_missed)
{
	auto_stmt struct stmt *st = NULL;
	int64_t first, last;
	int res = event_bounds(db, &first, &last);

	/*
	 * Revisions grow with ids, so the last such commit in the order of revisions is the last in
	 * time.
	 */
	if (!res)
		res = db_stmt(db,
			      "SELECT id FROM event WHERE revision <= ?1 AND kind = ?2"
			      " ORDER BY revision DESC, id DESC LIMIT 1",
			      &st);
	if (res)
		return res;
	stmt_int(st, 1, revision);
	stmt_int(st, 2, EVENT_COMMIT);
	res = stmt_step(st);
	if (res < 0)
		return res;
	*out_id = res ? stmt_get_int(st, 0) : first ? first - 1 : 0;
	/* Ids count from 1: a first one above that means that older ones were dropped. */
	*out_missed = !res && first > 1;
	return 0;
}
