/* SPDX-License-Identifier: MIT */
/*
 * The tables blob (what sealed content is) and garbage (since when nothing refers to it). Layer:
 * store.
 */
#include "store/blob/blob.h"
#include "store/sqlite/db.h"
#include "store/blob/quota.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

int blob_insert(struct db *db, const struct blob_id *id, int64_t size, const struct blob_hash *hash,
		const void *data)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db,
			  "INSERT INTO blob(id, size, hash, data) VALUES(?1, ?2, ?3, ?4)"
			  " ON CONFLICT(id) DO NOTHING",
			  &st);

	if (err)
		return err;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	stmt_int(st, 2, size);
	stmt_blob(st, 3, hash->b, sizeof(hash->b));
	if (data || size == 0)
		stmt_blob(st, 4, data ? data : "", (size_t)size);
	/* What is damaged on the last page of the table is no reason to take nothing new. */
	db_tolerate(db, DB_ROWS);
	err = stmt_run(st);
	db_tolerate(db, DB_STRICT);
	if (err)
		return err;
	return db_changes(db) ? quota_add(db, size) : 0;
}

/* The columns of a row into @out, which is untouched on failure. */
static int load(struct stmt *st, bool want_data, struct blob_info *out)
{
	struct blob_info info = { .size = stmt_get_int(st, 1), .is_inline = stmt_get_int(st, 3) };
	auto_free void *data = NULL;
	size_t len = 0;
	int err = stmt_get_bytes(st, 0, info.id.b, sizeof(info.id.b));

	if (!err)
		err = stmt_get_bytes(st, 2, info.hash.b, sizeof(info.hash.b));
	if (err)
		return err;
	if (info.size < 0)
		return -EUCLEAN;
	if (want_data && info.is_inline) {
		err = stmt_get_copy(st, 4, &data, &len);
		if (err)
			return err;
		if ((int64_t)len != info.size)
			return -EUCLEAN;
		info.data = take_ptr(&data);
	}
	*out = info;
	return 0;
}

/*
 * A damaged index may lead to the row of other content, whose hash is right for it. So the id is
 * that of the row, not the index's.
 */
static const char by_id[] = "SELECT b.id, b.size, b.hash, b.data IS NOT NULL, b.data"
			    " FROM blob AS i LEFT JOIN blob AS b ON b.n = i.n WHERE i.id = ?1";

static int load_own(struct stmt *st, const struct blob_id *id, bool want_data,
		    struct blob_info *out)
{
	struct blob_info info;
	int res = stmt_step(st);

	if (res <= 0)
		return res ? res : -ENOENT;
	res = load(st, want_data, &info);
	if (res)
		return res;
	if (memcmp(info.id.b, id->b, sizeof(id->b)) != 0) {
		free(info.data);
		return -EUCLEAN;
	}
	*out = info;
	return 0;
}

int blob_get(struct db *db, const struct blob_id *id, bool want_data, struct blob_info *out)
{
	struct stmt *st;
	int res = db_stmt(db, by_id, &st);

	if (res)
		return res;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	/* The hash says whether it is what was sealed, whatever else on the page is not. */
	db_tolerate(db, DB_ALL);
	res = load_own(st, id, want_data, out);
	stmt_done(st); /* what it holds could not be forgotten */
	db_tolerate(db, DB_STRICT);
	return res;
}

int garbage_mark(struct db *db, const struct blob_id *id, int64_t now_ns)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		db, "INSERT INTO garbage(blob, since) VALUES(?1, ?2) ON CONFLICT(blob) DO NOTHING",
		&st);

	if (err)
		return err;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	stmt_int(st, 2, now_ns);
	return stmt_run(st);
}

int garbage_unmark(struct db *db, const struct blob_id *id)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, "DELETE FROM garbage WHERE blob = ?1", &st);

	if (err)
		return err;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	return stmt_run(st);
}
