/* SPDX-License-Identifier: MIT */
/*
 * Repair of the tables, in one transaction. What must be shown again gets a place in the directory
 * lost+found of the tree, at one new revision; its content is thereby referred to, and gc leaves it
 * alone. Layer: store.
 */
#include "store/blob/damaged.h"
#include "store/sqlite/db.h"
#include "store/tree/entry_row.h"
#include "store/fence/fence.h"
#include "store/fsck/fsck_plan.h"
#include "store/tree/revision.h"
#include "store/store.h"
#include "store/layout.h"
#include "store/sqlite/setting.h"

#include "base/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OWNER "fence fsck --repair"

struct repair {
	struct db *db;
	int64_t now, revision, next_dir;
	int64_t lost; /* id of lost+found; 0: not needed yet */
	char lost_name[32];
	int64_t changed;
};

static int get_int(struct db *db, const char *sql, int64_t *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, sql, &st);

	if (!res)
		res = stmt_step(st);
	if (res > 0)
		*out = stmt_get_int(st, 0);
	return res < 0 ? res : 0;
}

/* A directory's entry, new at this revision. */
static int add_dir(struct repair *r, int64_t dir, const char *name, int64_t child)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(
		r->db,
		"INSERT INTO entry(dir, name, born, seq, kind, child, size, mode, uid, gid, mtime,"
		" token, owner) SELECT ?1, ?2, ?3, 1 + ifnull(max(seq), 0), ?4, ?5, 0, 448, ?6, ?7,"
		" ?8, 0, ?9 FROM entry WHERE dir = ?1 AND name = ?2",
		&st);

	if (err)
		return err;
	stmt_int(st, 1, dir);
	stmt_path(st, 2, name);
	stmt_int(st, 3, r->revision);
	stmt_int(st, 4, ENTRY_DIR);
	stmt_int(st, 5, child);
	stmt_int(st, 6, geteuid());
	stmt_int(st, 7, getegid());
	stmt_int(st, 8, r->now);
	stmt_text(st, 9, OWNER);
	r->changed++;
	return stmt_run(st);
}

/* lost+found in the root, or the first free lost+found.N if something else has that name. */
static int need_lost(struct repair *r)
{
	char *name = r->lost_name;

	if (!r->lost)
		snprintf(name, sizeof(r->lost_name), LAYOUT_LOST_FOUND);
	for (int i = 1; !r->lost; i++) {
		struct entry e;
		int err = entry_find(r->db, STORE_ROOT_DIR, name, ENTRY_NOW, &e);

		if (!err && e.kind == ENTRY_DIR) {
			r->lost = e.child;
		} else if (err == -ENOENT) {
			r->lost = r->next_dir++;
			return add_dir(r, STORE_ROOT_DIR, name, r->lost);
		} else if (err && err != -EUCLEAN) {
			return err;
		}
		if (!r->lost)
			snprintf(name, sizeof(r->lost_name), LAYOUT_LOST_FOUND ".%d", i);
	}
	return 0;
}

static int rehome(struct repair *r, const struct fsck_step *s)
{
	auto_stmt struct stmt *st = NULL;
	char name[40];
	int err = need_lost(r);

	if (!err)
		err = db_stmt(
			r->db,
			"UPDATE entry SET dir = ?2, name = ?3, born = ?4, died = NULL, seq = 1"
			" WHERE id = ?1",
			&st);
	if (err)
		return err;
	snprintf(name, sizeof(name), "row-%" PRId64, s->row);
	stmt_int(st, 1, s->row);
	stmt_int(st, 2, r->lost);
	stmt_path(st, 3, name);
	stmt_int(st, 4, r->revision);
	r->changed++;
	return stmt_run(st);
}

static int make_dir(struct repair *r, const struct fsck_step *s)
{
	char name[40];
	int err = need_lost(r);

	if (err)
		return err;
	snprintf(name, sizeof(name), "dir-%" PRId64, s->number);
	if (r->next_dir <= s->number)
		r->next_dir = s->number + 1;
	return add_dir(r, r->lost, name, s->number);
}

static int raise_counter(struct repair *r, int64_t to)
{
	int64_t have = 0;
	int err = setting_get(r->db, "token", &have);

	if (err && err != -ENOENT)
		return err;
	return have < to ? setting_set(r->db, "token", to) : 0;
}

static int raise_fence(struct repair *r, const char *path, int64_t token)
{
	struct refusal ignored;
	int err = fence_claim(r->db, path, token, OWNER, r->now, &ignored);

	return err == -ESTALE ? 0 : err; /* something else has raised it by now */
}

/* What came to lost+found brought tokens of other paths along (invariant 13). */
static int fence_lost(struct repair *r)
{
	int64_t highest = 0;
	int err = get_int(r->db, "SELECT max(token) FROM entry WHERE died IS NULL", &highest);

	return err ? err : raise_fence(r, r->lost_name, highest);
}

static int drop(struct repair *r, const char *sql, int64_t key)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(r->db, sql, &st);

	if (err)
		return err;
	stmt_int(st, 1, key);
	return stmt_run(st);
}

static int take_step(struct repair *r, const struct fsck_step *s)
{
	switch (s->action) {
	case FSCK_REHOME:
		return rehome(r, s);
	case FSCK_MAKE_DIR:
		return make_dir(r, s);
	case FSCK_ADD_REVISION: /* the new revision is above all that there are */
		r->changed++;
		return 0;
	case FSCK_RAISE_NEXT_DIR:
		if (r->next_dir < s->number)
			r->next_dir = s->number;
		return 0;
	case FSCK_RAISE_COUNTER:
		return raise_counter(r, s->number);
	case FSCK_RAISE_FENCE:
		return raise_fence(r, s->path, s->number);
	case FSCK_UNMARK:
		return garbage_unmark(r->db, &s->blob);
	case FSCK_DROP_XATTR:
		return drop(r, "DELETE FROM xattr WHERE entry = ?1", s->row);
	case FSCK_DROP_DIRTIME:
		return drop(r, "DELETE FROM dirtime WHERE dir = ?1", s->number);
	case FSCK_SET_FILE_ASIDE:
		return damaged_set_aside(r->db, &s->blob, r->now);
	case FSCK_NOTHING:
	case FSCK_ACTIONS_END:
		break;
	}
	return 0;
}

/* Above everything that any row says, so nothing that is there comes to lie in the future. */
static int begin(struct repair *r)
{
	int64_t newest = 0, highest_dir = 0;
	int err =
		get_int(r->db,
			"SELECT max((SELECT max(revision) FROM revision),"
			" (SELECT max(born) FROM entry), (SELECT ifnull(max(died), 0) FROM entry))",
			&newest);

	if (!err)
		err = get_int(r->db, "SELECT max(max(ifnull(child, 0)), max(dir)) FROM entry",
			      &highest_dir);
	if (!err)
		err = setting_get(r->db, "next_dir", &r->next_dir);
	if (err == -ENOENT)
		err = 0;
	r->revision = newest + 1;
	if (r->next_dir <= highest_dir)
		r->next_dir = highest_dir + 1;
	return err;
}

static int end(struct repair *r)
{
	struct revision rev = {
		.revision = r->revision,
		.at = r->now,
		.changed = r->changed,
		.path = ".",
		.owner = OWNER,
	};
	int err = setting_set(r->db, "next_dir", r->next_dir);

	if (!err && r->lost)
		err = fence_lost(r);
	if (err || r->changed == 0)
		return err;
	return revision_add(r->db, &rev, false);
}

int fsck_repair_tables(struct db *db, const struct fsck_plan *p)
{
	struct repair r = { .db = db, .now = io_now_ns() };
	int err = begin(&r);

	for (size_t i = 0; !err && i < p->n; i++)
		err = take_step(&r, &p->step[i]);
	return err ? err : end(&r);
}
