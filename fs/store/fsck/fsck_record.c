/* SPDX-License-Identifier: MIT */
/* What a repair changes, written down before it does: SQL that puts each row back. Layer: store. */
#include "store/fsck/fsck_plan.h"
#include "store/sqlite/db.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char entry_row[] =
	"SELECT 'REPLACE INTO entry(id, dir, name, born, died, seq, kind, child, blob, size,"
	" mode, uid, gid, mtime, token, target, owner, op) VALUES(' || quote(id) || ', ' ||"
	" quote(dir) || ', ' || quote(name) || ', ' || quote(born) || ', ' || quote(died) || ', '"
	" || quote(seq) || ', ' || quote(kind) || ', ' || quote(child) || ', ' || quote(blob) ||"
	" ', ' || quote(size) || ', ' || quote(mode) || ', ' || quote(uid) || ', ' || quote(gid)"
	" || ', ' || quote(mtime) || ', ' || quote(token) || ', ' || quote(target) || ', ' ||"
	" quote(owner) || ', ' || quote(op) || ');' FROM entry WHERE id = ?1";
static const char xattr_rows[] =
	"SELECT 'INSERT INTO xattr(entry, name, value) VALUES(' || quote(entry) || ', ' ||"
	" quote(name) || ', ' || quote(value) || ');' FROM xattr WHERE entry = ?1";
static const char dirtime_rows[] =
	"SELECT 'INSERT INTO dirtime(dir, revision, mtime) VALUES(' || quote(dir) || ', ' ||"
	" quote(revision) || ', ' || quote(mtime) || ');' FROM dirtime WHERE dir = ?1";

static int write_rows(struct db *db, const char *sql, int64_t key, int fd)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, sql, &st);

	if (res)
		return res;
	stmt_int(st, 1, key);
	while ((res = stmt_step(st)) > 0) {
		auto_free void *line = NULL;
		size_t len;

		res = stmt_get_copy(st, 0, &line, &len);
		if (!res)
			res = io_write_all(fd, line, len);
		if (!res)
			res = io_write_all(fd, "\n", 1);
		if (res)
			return res;
	}
	return res;
}

/* A comment; what could end it, or could be taken for SQL, is left out of the path. */
static int write_step(const struct fsck_step *s, int fd)
{
	char line[FENCE_PATH_MAX + 300];
	int n = snprintf(line, sizeof(line),
			 "-- %s: row %" PRId64 ", number %" PRId64 ", blob %s, %s\n",
			 fsck_action_text(s->action), s->row, s->number,
			 s->has_blob ? blob_hex(s->blob.b).s : "none", s->path);

	for (char *c = line; *c && c[1]; c++) {
		if (*c == '\n' || *c == '\r')
			*c = '?';
	}
	return io_write_all(fd, line, (size_t)n);
}

int fsck_record_rows(struct db *db, const struct fsck_plan *p, int fd)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct fsck_step *s = &p->step[i];
		int err = write_step(s, fd);

		if (!err && s->action == FSCK_REHOME)
			err = write_rows(db, entry_row, s->row, fd);
		if (!err && s->action == FSCK_DROP_XATTR)
			err = write_rows(db, xattr_rows, s->row, fd);
		if (!err && s->action == FSCK_DROP_DIRTIME)
			err = write_rows(db, dirtime_rows, s->number, fd);
		if (err)
			return err;
	}
	return 0;
}
