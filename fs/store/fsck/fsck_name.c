/* SPDX-License-Identifier: MIT */
/* Which path and version a finding is about, in a database that may be damaged. Layer: store. */
#include "store/tree/entry.h"
#include "store/fsck/fsck_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* As much of a row as names it. */
struct place {
	int64_t dir, died, seq;
	char name[FENCE_NAME_MAX + 1];
};

static int find_place(struct fsck *f, int64_t row, struct place *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(f->db, "SELECT dir, died, seq, name FROM entry WHERE id = ?1", &st);

	if (res)
		return res;
	stmt_int(st, 1, row);
	res = stmt_step(st);
	if (res <= 0)
		return res ? res : -ENOENT;
	out->dir = stmt_get_int(st, 0);
	out->died = stmt_get_int(st, 1);
	out->seq = stmt_get_int(st, 2);
	if (stmt_get_str(st, 3, out->name, sizeof(out->name)))
		snprintf(out->name, sizeof(out->name), "(unreadable name)");
	return 0;
}

void fsck_name_row(struct fsck *f, int64_t row, struct fsck_finding *x)
{
	char dir[FENCE_PATH_MAX + 1];
	struct place p;

	x->row = row;
	if (find_place(f, row, &p))
		return;
	x->version = p.seq;
	x->is_current = p.died == 0;
	if (p.dir == 0) {
		memcpy(x->path, ".", 2);
		return;
	}
	/* What has no path any more is named by the directory's id. */
	if (entry_path(f->db, p.dir, p.died ? p.died - 1 : ENTRY_NOW, dir) ||
	    path_join(dir, p.name, x->path))
		snprintf(x->path, sizeof(x->path), "#%" PRId64 "/%s", p.dir, p.name);
}

static int first_reject(struct fsck *f, const struct blob_id *id, struct fsck_finding *x)
{
	auto_stmt struct stmt *st = NULL;
	char path[FENCE_PATH_MAX + 1];
	size_t len = strlen(x->what);
	int res = db_stmt(f->db, "SELECT path, id FROM reject WHERE blob = ?1 LIMIT 1", &st);

	if (res)
		return res;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	res = stmt_step(st);
	if (res <= 0 || stmt_get_str(st, 0, path, sizeof(path)))
		return res;
	memcpy(x->path, path, strlen(path) + 1);
	snprintf(x->what + len, sizeof(x->what) - len, " (data of refused write %" PRId64 ")",
		 stmt_get_int(st, 1));
	return 0;
}

void fsck_name_blob(struct fsck *f, const struct blob_id *id, struct fsck_finding *x)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(f->db,
			  "SELECT id FROM entry WHERE blob = ?1 ORDER BY died IS NOT NULL, id DESC",
			  &st);

	x->has_blob = true;
	x->blob = *id;
	if (res)
		return;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	while (stmt_step(st) > 0) {
		if (x->row)
			x->others++;
		else
			fsck_name_row(f, stmt_get_int(st, 0), x);
	}
	if (!x->row)
		(void)first_reject(f, id, x);
}
