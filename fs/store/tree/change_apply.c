/* SPDX-License-Identifier: MIT */
/*
 * Moving the pointers: old rows die, new rows are born. Layer: store.
 */
#include "store/tree/change_plan.h"
#include "store/sqlite/changed.h"
#include "store/sqlite/db.h"
#include "store/tree/entry_row.h"
#include "store/tree/history.h"
#include "store/sqlite/setting.h"
#include "store/fence/refusal_fill.h"

#include <errno.h>
#include <string.h>

static int kill_row(struct plan *p, int64_t row)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(p->db, "UPDATE entry SET died = ?2 WHERE id = ?1 AND died IS NULL", &st);

	if (err)
		return err;
	stmt_int(st, 1, row);
	stmt_int(st, 2, p->revision);
	return stmt_run(st);
}

static int kill_old(struct plan *p)
{
	int64_t last = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct step *s = p->by_name[i];
		int err;

		if (!step_kills(s) || s->old_row == last)
			continue;
		err = kill_row(p, s->old_row);
		if (err)
			return err;
		last = s->old_row;
	}
	return 0;
}

/* Content that is referred to from now on exists, and gc's mark on it is void. */
static int adopt_blob(struct plan *p, const struct change *c)
{
	struct blob_info info;
	int err;

	if (!c->has_blob)
		return c->size == 0 ? 0 : -EINVAL;
	err = blob_get(p->db, &c->blob, false, &info);
	if (err == -ENOENT)
		return refusal_set(p->refusal, ENOENT, c->path, p->req->token,
				   "the content of %.120s is gone", c->path);
	if (err)
		return err;
	if (info.size != c->size)
		return -EINVAL;
	return garbage_unmark(p->db, &c->blob);
}

/* Longer names cannot come from the kernel, and could not be read back. */
#define XATTR_NAME_MAX 255

static int add_xattrs(struct plan *p, const struct change *c, int64_t row)
{
	for (size_t i = 0; i < c->n_xattrs; i++) {
		auto_stmt struct stmt *st = NULL;
		const struct change_xattr *x = &c->xattrs[i];
		int err = strlen(x->name) > XATTR_NAME_MAX ? -ERANGE : 0;

		if (err)
			return err;
		err = db_stmt(p->db, "INSERT INTO xattr(entry, name, value) VALUES(?1, ?2, ?3)",
			      &st);
		if (err)
			return err;
		stmt_int(st, 1, row);
		stmt_path(st, 2, x->name);
		stmt_blob(st, 3, x->len ? x->value : "", x->len);
		err = stmt_run(st);
		if (err)
			return err;
	}
	return 0;
}

static void bind_kind(struct stmt *st, const struct step *s)
{
	const struct change *c = s->c;

	switch (c->kind) {
	case CHANGE_DIR:
		stmt_int(st, 5, ENTRY_DIR);
		stmt_int(st, 6, s->child);
		stmt_int(st, 8, 0);
		break;
	case CHANGE_SYMLINK:
		stmt_int(st, 5, ENTRY_SYMLINK);
		stmt_int(st, 8, (int64_t)strlen(c->target));
		stmt_path(st, 14, c->target);
		break;
	case CHANGE_FILE:
	case CHANGE_REMOVE:
		stmt_int(st, 5, ENTRY_FILE);
		if (c->has_blob)
			stmt_blob(st, 7, c->blob.b, sizeof(c->blob.b));
		stmt_int(st, 8, c->size);
		break;
	}
}

static int add_row(struct plan *p, const struct step *s, int64_t seq)
{
	auto_stmt struct stmt *st = NULL;
	const struct commit_request *req = p->req;
	const struct change *c = s->c;
	int err = db_stmt(
		p->db,
		"INSERT INTO entry(dir, name, born, seq, kind, child, blob, size, mode, uid, gid,"
		" mtime, token, target, owner, op)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
		&st);

	if (err)
		return err;
	stmt_int(st, 1, s->dir);
	stmt_path(st, 2, c->name);
	stmt_int(st, 3, p->revision);
	stmt_int(st, 4, seq);
	bind_kind(st, s);
	stmt_int(st, 9, c->mode & 07777);
	stmt_int(st, 10, c->uid);
	stmt_int(st, 11, c->gid);
	stmt_int(st, 12, c->mtime);
	stmt_int(st, 13, req->token);
	stmt_text(st, 15, req->owner);
	stmt_text(st, 16, req->op);
	return stmt_run(st);
}

static int bear(struct plan *p, const struct step *s, const struct history *past)
{
	int64_t seq = 0;
	int err = s->c->kind == CHANGE_FILE ? adopt_blob(p, s->c) : 0;

	if (!err)
		err = history_seq(p->db, past, s->c->name, &seq);
	if (!err)
		err = add_row(p, s, seq + 1);
	return err ? err : add_xattrs(p, s->c, db_last_rowid(p->db));
}

/* The past of a step's parent path; the root's own name lies in directory 0. */
static int parent_past(struct plan *p, const struct step *s, struct history *out)
{
	char parent[FENCE_PATH_MAX + 1];

	history_fini(out);
	if (s->dir == 0)
		return history_of_root(out);
	step_parent(s, parent);
	return history_dirs(p->db, parent, out);
}

static int bear_new(struct plan *p)
{
	auto_history struct history past = { 0 };
	const struct step *of = NULL; /* whose parent's past that is */

	for (size_t i = 0; i < p->n; i++) {
		const struct step *s = p->by_name[i];
		int err = 0;

		if (!step_bears(s))
			continue;
		if (!of || of->dir == 0 || !step_same_parent(of, s))
			err = parent_past(p, s, &past);
		of = s;
		if (!err)
			err = bear(p, s, &past);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Whether the steps of one name leave a directory with another set of names, or a name with
 * something else behind it.
 */
static bool changes_names(struct step *const *group, size_t n)
{
	const struct step *born = NULL;

	for (size_t i = 0; i < n; i++) {
		if (step_bears(group[i]))
			born = group[i];
	}
	if (!born)
		return step_kills(group[0]);
	if (!born->old_row)
		return true;
	if (born->c->kind == CHANGE_DIR)
		return !born->is_in_place;
	return (born->c->kind == CHANGE_FILE) != (born->old_kind == ENTRY_FILE) ||
	       (born->c->kind == CHANGE_SYMLINK) != (born->old_kind == ENTRY_SYMLINK);
}

/*
 * A directory with a new version of its own has its time from there, and one that is gone needs
 * none.
 */
static int add_dirtime(struct plan *p, int64_t dir)
{
	auto_stmt struct stmt *st = NULL;
	struct entry e;
	int err = entry_find_child(p->db, dir, ENTRY_NOW, &e);

	if (err == -ENOENT || (!err && e.born == p->revision))
		return 0;
	if (!err)
		err = db_stmt(p->db, "INSERT INTO dirtime(dir, revision, mtime) VALUES(?1, ?2, ?3)",
			      &st);
	if (err)
		return err;
	stmt_int(st, 1, dir);
	stmt_int(st, 2, p->revision);
	stmt_int(st, 3, p->req->now_ns);
	return stmt_run(st);
}

static int add_dirtimes(struct plan *p)
{
	int64_t done = 0;
	size_t i = 0;

	while (i < p->n) {
		struct step *const *group = &p->by_name[i];
		size_t n = 0;
		int err;

		while (i + n < p->n && step_same_name(group[0], group[n]))
			n++;
		i += n;
		if (group[0]->dir == done || group[0]->dir == 0 || !changes_names(group, n))
			continue;
		done = group[0]->dir;
		err = add_dirtime(p, done);
		if (err)
			return err;
	}
	return 0;
}

static int tell_name(struct plan *p, const struct step *s)
{
	const struct change *c = s->c;
	int err = 0;

	/* In a directory of this commit's own making nobody has looked a name up yet. */
	if (c->dir > 0)
		err = changed_add(p->db, (struct changed_row){ .kind = CHANGED_NAME,
							       .number = s->dir,
							       .text = c->name });
	if (!err && c->kind == CHANGE_DIR && c->child > 0)
		err = changed_add(p->db,
				  (struct changed_row){ .kind = CHANGED_DIR, .number = s->child });
	return err;
}

int change_apply(struct plan *p)
{
	int err = kill_old(p);

	if (!err)
		err = bear_new(p);
	if (!err)
		err = add_dirtimes(p);
	if (!err && p->next_dir)
		err = setting_set(p->db, "next_dir", p->next_dir);
	return err;
}

int change_tell(struct plan *p)
{
	int err = 0;

	for (size_t i = 0; i < p->n && !err; i++) {
		const struct step *s = p->by_name[i];

		if (step_kills(s) || step_bears(s))
			err = tell_name(p, s);
	}
	if (!err && p->dirs_moved)
		err = changed_add(p->db, (struct changed_row){ .kind = CHANGED_PATHS });
	return err;
}
