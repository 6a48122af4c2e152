/* SPDX-License-Identifier: MIT */
/*
 * Finding entries of the tree, now and at any revision. Layer: store.
 *
 * Of one name, versions do not overlap: the one visible at R is the youngest with born <= R, if it
 * had not died by R.
 */
#include "store/tree/entry.h"
#include "store/sqlite/db.h"
#include "store/tree/entry_row.h"

#include <errno.h>
#include <string.h>

static int load_kind(struct stmt *st, struct entry *e)
{
	int64_t kind = stmt_get_int(st, 6);

	if (kind != ENTRY_FILE && kind != ENTRY_DIR && kind != ENTRY_SYMLINK)
		return -EUCLEAN;
	e->kind = (enum entry_kind)kind;
	e->child = stmt_get_int(st, 7);
	if ((e->kind == ENTRY_DIR) != (e->child > 0))
		return -EUCLEAN;
	e->has_blob = !stmt_is_null(st, 8);
	return e->has_blob ? stmt_get_bytes(st, 8, e->blob.b, sizeof(e->blob.b)) : 0;
}

int entry_load(struct stmt *st, struct entry *out)
{
	struct entry e = {
		.row = stmt_get_int(st, 0),
		.dir = stmt_get_int(st, 1),
		.born = stmt_get_int(st, 3),
		.died = stmt_get_int(st, 4),
		.seq = stmt_get_int(st, 5),
		.size = stmt_get_int(st, 9),
		.mode = (uint32_t)stmt_get_int(st, 10) & 07777,
		.uid = (uint32_t)stmt_get_int(st, 11),
		.gid = (uint32_t)stmt_get_int(st, 12),
		.mtime = stmt_get_int(st, 13),
		.token = stmt_get_int(st, 14),
	};
	int err = stmt_get_str(st, 2, e.name, sizeof(e.name));

	if (!err)
		err = load_kind(st, &e);
	if (err)
		return err;
	if (e.size < 0 || e.born < 0 || (e.died != 0 && e.died <= e.born))
		return -EUCLEAN;
	*out = e;
	return 0;
}

/* One row of a bound statement. -ENOENT. */
static int load_one(struct stmt *st, struct entry *out)
{
	int res = stmt_step(st);

	if (res <= 0)
		return res ? res : -ENOENT;
	return entry_load(st, out);
}

static int find_current(struct db *db, int64_t dir, const char *name, struct entry *out)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "SELECT " ENTRY_COLUMNS " FROM entry"
			  " WHERE dir = ?1 AND name = ?2 AND died IS NULL",
			  &st);

	if (err)
		return err;
	stmt_int(st, 1, dir);
	stmt_path(st, 2, name);
	return load_one(st, out);
}

/* The youngest version born at or before @rev, dead or not. */
static int find_past(struct db *db, int64_t dir, const char *name, int64_t rev, struct entry *out)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "SELECT " ENTRY_COLUMNS " FROM entry"
			  " WHERE dir = ?1 AND name = ?2 AND born <= ?3 ORDER BY born DESC LIMIT 1",
			  &st);

	if (err)
		return err;
	stmt_int(st, 1, dir);
	stmt_path(st, 2, name);
	stmt_int(st, 3, rev);
	return load_one(st, out);
}

static int find_child_current(struct db *db, int64_t child, struct entry *out)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db, "SELECT " ENTRY_COLUMNS " FROM entry WHERE child = ?1 AND died IS NULL", &st);

	if (err)
		return err;
	stmt_int(st, 1, child);
	return load_one(st, out);
}

static int find_child_past(struct db *db, int64_t child, int64_t rev, struct entry *out)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "SELECT " ENTRY_COLUMNS " FROM entry"
			  " WHERE child = ?1 AND born <= ?2 ORDER BY born DESC LIMIT 1",
			  &st);

	if (err)
		return err;
	stmt_int(st, 1, child);
	stmt_int(st, 2, rev);
	return load_one(st, out);
}

/*
 * The two queries of a find need no snapshot around them: rows never change but for `died`, which
 * goes from NULL to a revision younger than any that a reader asks for, so a commit between the two
 * cannot change the answer at @rev.
 */
int entry_find(struct db *db, int64_t dir, const char *name, int64_t rev, struct entry *out)
{
	struct entry e;
	int err = find_current(db, dir, name, &e);

	if (rev != ENTRY_NOW && (err == -ENOENT || (!err && e.born > rev)))
		err = find_past(db, dir, name, rev, &e);
	if (err)
		return err;
	if (!entry_is_visible(&e, rev))
		return -ENOENT;
	*out = e;
	return 0;
}

int entry_find_child(struct db *db, int64_t child, int64_t rev, struct entry *out)
{
	struct entry e;
	int err = find_child_current(db, child, &e);

	if (rev != ENTRY_NOW && (err == -ENOENT || (!err && e.born > rev)))
		err = find_child_past(db, child, rev, &e);
	if (err)
		return err;
	if (!entry_is_visible(&e, rev))
		return -ENOENT;
	*out = e;
	return 0;
}

int entry_newest(struct db *db, const struct entry *e, int64_t rev, struct entry *out)
{
	if (e->kind == ENTRY_DIR)
		return find_child_past(db, e->child, rev, out);
	return find_past(db, e->dir, e->name, rev, out);
}

int entry_add_dirtime(struct db *db, int64_t rev, struct entry *e)
{
	auto_stmt struct stmt *st = NULL;
	int res;

	if (e->kind != ENTRY_DIR)
		return 0;
	res = db_stmt(
		db,
		"SELECT mtime FROM dirtime WHERE dir = ?1 AND revision <= ?2 AND revision > ?3"
		" ORDER BY revision DESC LIMIT 1",
		&st);
	if (res)
		return res;
	stmt_int(st, 1, e->child);
	stmt_int(st, 2, rev);
	stmt_int(st, 3, e->born);
	res = stmt_step(st);
	if (res > 0)
		e->mtime = stmt_get_int(st, 0);
	return res < 0 ? res : 0;
}

static int finish(struct db *db, int err, int64_t rev, struct entry *e, struct entry *out)
{
	if (!err)
		err = entry_add_dirtime(db, rev, e);
	if (!err)
		*out = *e;
	return err;
}

int entry_lookup(struct db *db, int64_t dir, const char *name, int64_t rev, struct entry *out)
{
	struct entry e;

	return finish(db, entry_find(db, dir, name, rev, &e), rev, &e, out);
}

int entry_by_child(struct db *db, int64_t child, int64_t rev, struct entry *out)
{
	struct entry e;

	return finish(db, entry_find_child(db, child, rev, &e), rev, &e, out);
}

int entry_by_row(struct db *db, int64_t row, struct entry *out)
{
	auto_stmt struct stmt *st = NULL;
	struct entry e;
	int err = db_stmt(db, "SELECT " ENTRY_COLUMNS " FROM entry WHERE id = ?1", &st);

	if (err)
		return err;
	stmt_int(st, 1, row);
	err = load_one(st, &e);
	if (err)
		return err;
	return finish(db, 0, e.died ? e.died - 1 : ENTRY_NOW, &e, out);
}
