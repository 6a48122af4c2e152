/* SPDX-License-Identifier: MIT */
/* Invariants 14 to 18 and 22: what the tables say of content. Layer: store. */
#include "store/blob/damaged.h"
#include "store/fsck/fsck_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Column @column as an id; false: it is none. */
static bool take_id(struct stmt *st, int column, struct blob_id *out)
{
	return stmt_get_bytes(st, column, out->b, sizeof(out->b)) == 0;
}

static int bad_blob(struct fsck *f, struct stmt *st, void *arg)
{
	struct fsck_finding x;
	struct blob_id id;

	(void)arg;
	fsck_finding_init(&x, FSCK_BLOB_FIELDS, "row %" PRId64 " of blob is malformed",
			  stmt_get_int(st, 0));
	if (take_id(st, 1, &id))
		fsck_name_blob(f, &id, &x);
	return fsck_report(f, &x);
}

static int bad_reference(struct fsck *f, struct stmt *st, void *arg)
{
	struct fsck_finding x;
	struct blob_id id = { { 0 } };
	bool known = take_id(st, 1, &id);

	(void)arg;
	if (stmt_is_null(st, 2))
		fsck_finding_init(&x, FSCK_REFERENCE, "its content, blob %s, is not known",
				  known ? blob_hex(id.b).s : "(no id)");
	else
		fsck_finding_init(&x, FSCK_REFERENCE,
				  "its size is %" PRId64 ", its content has %" PRId64 " bytes",
				  stmt_get_int(st, 3), stmt_get_int(st, 2));
	fsck_name_row(f, stmt_get_int(st, 0), &x);
	x.has_blob = known;
	x.blob = id;
	return fsck_report(f, &x);
}

static int garbage_used(struct fsck *f, struct stmt *st, void *arg)
{
	struct fsck_finding x;
	struct blob_id id;

	(void)arg;
	if (!take_id(st, 1, &id))
		return 0;
	fsck_finding_init(&x, FSCK_GARBAGE, "its content is marked as garbage");
	fsck_name_row(f, stmt_get_int(st, 0), &x);
	x.has_blob = true;
	x.blob = id;
	x.action = FSCK_UNMARK;
	return fsck_report(f, &x);
}

static int reject_without(struct fsck *f, struct stmt *st, void *arg)
{
	struct fsck_finding x;

	(void)arg;
	fsck_finding_init(&x, FSCK_REJECT,
			  "the data of refused write %" PRId64 " is not known or of another size",
			  stmt_get_int(st, 0));
	if (stmt_get_str(st, 1, x.path, sizeof(x.path)))
		snprintf(x.path, sizeof(x.path), "(unreadable path)");
	x.has_blob = take_id(st, 2, &x.blob);
	return fsck_report(f, &x);
}

static int xattr_without(struct fsck *f, struct stmt *st, void *arg)
{
	struct fsck_finding x;

	(void)arg;
	fsck_finding_init(&x, FSCK_XATTR,
			  "%" PRId64 " extended attributes belong to row %" PRId64
			  " of entry, which is not there",
			  stmt_get_int(st, 1), stmt_get_int(st, 0));
	x.row = stmt_get_int(st, 0);
	x.action = FSCK_DROP_XATTR;
	return fsck_report(f, &x);
}

static const struct {
	const char *table, *sql;
	fsck_row_fn fn;
} queries[] = {
	{ "table blob",
	  "SELECT n, id FROM blob WHERE length(id) <> 16 OR length(hash) <> 16 OR size < 0"
	  " OR (data IS NOT NULL AND length(data) <> size)",
	  bad_blob },
	{ "tables entry and blob",
	  "SELECT e.id, e.blob, b.size, e.size FROM entry e LEFT JOIN blob b ON b.id = e.blob"
	  " WHERE e.blob IS NOT NULL AND (b.id IS NULL OR b.size <> e.size)",
	  bad_reference },
	{ "tables garbage and entry",
	  "SELECT e.id, e.blob FROM entry e WHERE e.blob IN (SELECT blob FROM garbage)",
	  garbage_used },
	{ "tables reject and blob",
	  "SELECT r.id, r.path, r.blob FROM reject r LEFT JOIN blob b ON b.id = r.blob"
	  " WHERE r.blob IS NOT NULL AND (b.id IS NULL OR b.size <> r.size)",
	  reject_without },
	{ "tables xattr and entry",
	  "SELECT x.entry, count(*) FROM xattr x GROUP BY x.entry HAVING NOT EXISTS"
	  " (SELECT 1 FROM entry e WHERE e.id = x.entry)",
	  xattr_without },
};

static int report_mark(struct fsck *f, const struct blob_id *id)
{
	struct fsck_finding x;
	int aside = damaged_is_aside(f->db, id);

	if (aside < 0)
		return aside;
	if (aside)
		fsck_finding_init(&x, FSCK_SET_ASIDE,
				  "content was lost: blob %s is in lost+found of the store",
				  blob_hex(id->b).s);
	else
		fsck_finding_init(&x, FSCK_MARKED, "content was found damaged before: blob %s",
				  blob_hex(id->b).s);
	fsck_name_blob(f, id, &x);
	if (!aside)
		x.action = FSCK_SET_FILE_ASIDE;
	return fsck_report(f, &x);
}

static int check_marks(struct fsck *f)
{
	struct blob_id id;
	int err = damaged_next(f->db, NULL, &id);

	while (!err) {
		err = report_mark(f, &id);
		if (!err)
			err = damaged_next(f->db, &id, &id);
	}
	return err == -ENOENT ? 0 : fsck_survive(f, "table setting", err);
}

int fsck_check_blobs(struct fsck *f)
{
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		int err = fsck_query(f, queries[i].table, queries[i].sql, queries[i].fn, NULL);

		if (err)
			return err;
	}
	return check_marks(f);
}
