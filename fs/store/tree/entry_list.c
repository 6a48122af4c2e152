/* SPDX-License-Identifier: MIT */
/*
 * Listing a directory. Layer: store.
 *
 * What is current is read from the index of current rows. At an older revision the names are walked
 * one by one through the index of all versions, so that a name with a long past costs no more than
 * one without.
 */
#include "store/tree/entry.h"
#include "store/sqlite/db.h"
#include "store/tree/entry_row.h"
#include "store/tree/revision.h"
#include "store/sqlite/txn.h"

#include <errno.h>
#include <string.h>

static int list_current(struct db *db, int64_t dir, const char *after, struct entry *out, int max)
{
	auto_stmt struct stmt *st = NULL;
	int n = 0;
	int res = db_stmt(db,
			  "SELECT " ENTRY_COLUMNS " FROM entry"
			  " WHERE dir = ?1 AND name > ?2 AND died IS NULL ORDER BY name LIMIT ?3",
			  &st);

	if (res)
		return res;
	stmt_int(st, 1, dir);
	stmt_path(st, 2, after);
	stmt_int(st, 3, max);
	while ((res = stmt_step(st)) > 0 && n < max) {
		res = entry_load(st, &out[n]);
		if (res)
			break;
		n++;
	}
	return res < 0 ? res : n;
}

/* The first name after @name that @dir ever had, written over it. -ENOENT. */
static int next_name(struct db *db, int64_t dir, char *name)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(
		db, "SELECT name FROM entry WHERE dir = ?1 AND name > ?2 ORDER BY name LIMIT 1",
		&st);

	if (res)
		return res;
	stmt_int(st, 1, dir);
	stmt_path(st, 2, name);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -ENOENT;
	return stmt_get_str(st, 0, name, FENCE_NAME_MAX + 1);
}

static int list_past(struct db *db, int64_t dir, int64_t rev, const char *after, struct entry *out,
		     int max)
{
	char name[FENCE_NAME_MAX + 1];
	int n = 0;

	memcpy(name, after, strlen(after) + 1);
	while (n < max) {
		int err = next_name(db, dir, name);

		if (err == -ENOENT)
			break;
		if (!err)
			err = entry_find(db, dir, name, rev, &out[n]);
		if (!err)
			n++;
		else if (err != -ENOENT)
			return err;
	}
	return n;
}

static int list(struct db *db, int64_t dir, int64_t rev, const char *after, struct entry *out,
		int max)
{
	int64_t newest = 0;
	int n;

	if (rev != ENTRY_NOW) {
		int err = revision_current(db, &newest);

		if (err)
			return err;
	}
	n = rev >= newest ? list_current(db, dir, after, out, max) :
			    list_past(db, dir, rev, after, out, max);
	for (int i = 0; i < n; i++) {
		int err = entry_add_dirtime(db, rev, &out[i]);

		if (err)
			return err;
	}
	return n;
}

int entry_list(struct db *db, int64_t dir, int64_t rev, const char *after, struct entry *out,
	       int max)
{
	int res;

	if (strlen(after) > FENCE_NAME_MAX)
		return -ENAMETOOLONG;
	/* "Is @rev the newest?" and the answer that follows from it belong to one snapshot. */
	res = txn_read_begin(db);
	if (res)
		return res;
	res = list(db, dir, rev, after, out, max);
	txn_read_end(db);
	return res;
}

int entry_has_children(struct db *db, int64_t dir, int64_t rev)
{
	struct entry first;

	return entry_list(db, dir, rev, "", &first, 1);
}
