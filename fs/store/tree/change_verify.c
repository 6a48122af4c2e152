/* SPDX-License-Identifier: MIT */
/*
 * The tree stays a tree, and every change was where it said. Layer: store.
 *
 * Why that suffices: before the commit every directory but the root has one entry, in a directory
 * that has one itself, up to the root. The entry of a directory goes away only by removal, and then
 * nothing is left in it; or by a move, and then it has a new one. So after the commit each entry
 * still lies in a directory that has an entry. Going up from any of them either ends at the root or
 * runs in a circle, and a circle must pass through a directory that was moved: those are followed
 * up to the root, one by one.
 *
 * Why paths are checked: fences are looked up by the path that the change says. Were it not the
 * path of the directory that holds the name, a change could slip past the fence of where it really
 * is. A directory that this commit moves, or that lies beneath one, has two paths, and rows beneath
 * both were checked with the move itself, so either will do.
 */
#include "store/tree/change_plan.h"
#include "store/sqlite/db.h"
#include "store/tree/entry_row.h"
#include "store/fence/refusal_fill.h"

#include <errno.h>
#include <string.h>

static int refuse_gone(struct plan *p, const struct step *s)
{
	return refusal_set(p->refusal, ENOENT, s->c->path, p->req->token,
			   "the directory of %.120s was moved or removed meanwhile", s->c->path);
}

/* Path of the directory that holds the name, kept while the steps that follow have the same one. */
struct memo {
	int64_t dir; /* 0: nothing yet */
	char path[FENCE_PATH_MAX + 1];
};

/* Whether @s is where it says, in the tree as it is: 1, 0, or -errno. */
static int is_honest(struct plan *p, const struct step *s, struct memo *m)
{
	char parent[FENCE_PATH_MAX + 1];

	if (m->dir != s->dir) {
		int err = entry_path(p->db, s->dir, ENTRY_NOW, m->path);

		m->dir = 0;
		if (err == -ENOENT || err == -ELOOP || err == -ENAMETOOLONG)
			return 0;
		if (err)
			return err;
		m->dir = s->dir;
	}
	step_parent(s, parent);
	return strcmp(parent, m->path) == 0;
}

/*
 * In a directory that this commit makes or implies: where that one's own change, which is checked
 * in its turn, says it is.
 */
static bool is_below_maker(struct plan *p, const struct step *s)
{
	const struct step *maker = plan_find_number(p, s->c->dir);

	return strlen(maker->c->path) == s->parent_len &&
	       memcmp(maker->c->path, s->c->path, s->parent_len) == 0;
}

static int check_maker(struct plan *p, struct step *s)
{
	if (s->c->implied && s->old_row && !s->old_child)
		return refusal_set(p->refusal, ENOTDIR, s->c->path, p->req->token,
				   "%.120s is not a directory", s->c->path);
	if (s->c->dir < 0 && !is_below_maker(p, s))
		return -EINVAL;
	s->path_checked = s->c->dir <= 0;
	return 0;
}

/* An existing directory comes from a name that this commit takes away from it. */
static int check_source(struct plan *p, const struct step *s)
{
	struct entry from;
	int err;

	if (!s->is_moved)
		return 0;
	err = entry_find_child(p->db, s->child, ENTRY_NOW, &from);
	if (err && err != -ENOENT)
		return err;
	if (!err && plan_kills(p, &from))
		return 0;
	return refusal_set(p->refusal, ENOENT, s->c->path, p->req->token,
			   "the directory that becomes %.120s was moved or removed meanwhile",
			   s->c->path);
}

int change_verify_before(struct plan *p)
{
	struct memo memo = { .dir = 0 };

	for (size_t i = 0; i < p->n; i++) {
		struct step *s = p->by_name[i];
		int res = check_maker(p, s);

		if (!res)
			res = check_source(p, s);
		if (res)
			return res;
		if (s->path_checked)
			continue;
		res = is_honest(p, s, &memo);
		if (res < 0)
			return res;
		s->path_checked = res > 0;
	}
	return 0;
}

/* A directory that lost its name and got no other one is removed. */
static int check_removed(struct plan *p, const struct step *s)
{
	int res;

	if (!step_kills(s) || !s->old_child || plan_find_child(p, s->old_child))
		return 0;
	p->dirs_moved = true;
	res = entry_has_children(p->db, s->old_child, ENTRY_NOW);
	if (res <= 0)
		return res;
	return refusal_set(p->refusal, ENOTEMPTY, s->c->path, p->req->token,
			   "directory %.120s is not empty: something was added to it meanwhile",
			   s->c->path);
}

static int check_moved(struct plan *p, const struct step *s)
{
	char path[FENCE_PATH_MAX + 1];
	int err;

	if (!s->is_moved)
		return 0;
	p->dirs_moved = true;
	err = entry_path(p->db, s->child, ENTRY_NOW, path);
	if (err == -ELOOP)
		return refusal_set(p->refusal, EINVAL, s->c->path, p->req->token,
				   "%.120s would be moved into itself", s->c->path);
	if (err == -ENOENT)
		return refuse_gone(p, s);
	if (err == -ENAMETOOLONG)
		return refusal_set(p->refusal, ENAMETOOLONG, s->c->path, p->req->token,
				   "the path of %.120s would be too long", s->c->path);
	return err;
}

int change_verify_after(struct plan *p)
{
	struct memo memo = { .dir = 0 };

	for (size_t i = 0; i < p->n; i++) {
		const struct step *s = p->by_name[i];
		int res = check_removed(p, s);

		if (!res)
			res = check_moved(p, s);
		if (res)
			return res;
		if (s->path_checked)
			continue;
		res = is_honest(p, s, &memo);
		if (res < 0)
			return res;
		if (res == 0)
			return refuse_gone(p, s);
	}
	return 0;
}
