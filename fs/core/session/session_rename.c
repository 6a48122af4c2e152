/* SPDX-License-Identifier: MIT */
/* rename(2) in a session. Core layer. */
#include "core/session/change_scope.h"

#include "base/io.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>

/* One end of a rename: what is at (dir, name). */
struct end {
	int64_t dir;
	const char *name;
	struct oname *at;
	struct snode *node; /* NULL and exists: unmodified, in entry */
	struct entry entry;
	bool exists;
};

static int end_find(struct change_scope *t, struct end *e)
{
	int err = session_may_change(t->s, t->db, t->rev, e->dir, e->name);

	if (err < 0)
		return err;
	err = session_at(t->s, t->db, t->rev, e->dir, e->name, &e->node, &e->entry, &e->at);
	if (err == -ENOENT)
		return 0;
	if (err < 0)
		return err;
	e->exists = true;
	return change_sticky(t, e->dir, e->node ? e->node->uid : e->entry.uid);
}

static enum entry_kind end_kind(const struct end *e)
{
	return e->node ? e->node->kind : e->entry.kind;
}

/* Give it a node of the session, whatever it was. */
static int end_adopt(struct change_scope *t, struct end *e)
{
	int err;

	if (!e->exists || e->node)
		return 0;
	err = session_adopt(t->s, t->db, &e->entry, &e->node);
	if (!err)
		e->at = e->node->link;
	return err;
}

static int end_name(struct change_scope *t, struct end *e)
{
	if (e->at)
		return 0;
	e->at = overlay_name_add(&t->s->overlay, e->dir, e->name, 0);
	return e->at ? 0 : -ENOMEM;
}

/*
 * The kernel forbids moving a directory into itself by its dentries; the session's tree may have
 * changed beneath those.
 */
static int check_no_cycle(struct change_scope *t, const struct end *from, const struct end *to)
{
	char moved[FENCE_PATH_MAX + 1], parent[FENCE_PATH_MAX + 1], into[FENCE_PATH_MAX + 1];
	int err;

	if (end_kind(from) != ENTRY_DIR)
		return 0;
	err = session_dir_path(t->s, t->db, t->rev, from->dir, parent);
	if (!err)
		err = path_join(parent, from->name, moved);
	if (!err)
		err = session_dir_path(t->s, t->db, t->rev, to->dir, into);
	if (err < 0)
		return err;
	return path_is_within(into, moved) ? -EINVAL : 0;
}

static int check_replace(struct change_scope *t, const struct end *from, const struct end *to)
{
	int err;

	if (!to->exists)
		return 0;
	if (end_kind(from) == ENTRY_DIR && end_kind(to) != ENTRY_DIR)
		return -ENOTDIR;
	if (end_kind(from) != ENTRY_DIR && end_kind(to) == ENTRY_DIR)
		return -EISDIR;
	if (end_kind(to) != ENTRY_DIR)
		return 0;
	err = change_is_empty(t, to->node ? to->node->id : to->entry.child);
	if (err < 0)
		return err;
	return err ? 0 : -ENOTEMPTY;
}

static void end_unlink(struct end *e)
{
	if (e->node) {
		e->at->node = NULL;
		e->node->link = NULL;
	}
}

static void finish(struct change_scope *t, const struct end *from, const struct end *to)
{
	from->node->ctime = io_now_ns();
	change_touch(t, from->dir);
	if (to->dir != from->dir)
		change_touch(t, to->dir);
	t->s->moves++;
}

static int move(struct change_scope *t, struct end *from, struct end *to)
{
	struct snode *replaced;
	int err = check_replace(t, from, to);

	if (!err)
		err = end_adopt(t, from);
	if (!err)
		err = end_adopt(t, to); /* so that the name remembers the live row that it hides */
	if (!err)
		err = end_name(t, to);
	if (err < 0)
		return err;
	replaced = to->node;
	end_unlink(to);
	end_unlink(from);
	overlay_link(to->at, from->node);
	if (!from->at->base)
		overlay_name_remove(&t->s->overlay, from->at);
	session_node_unlinked(t->s, replaced);
	finish(t, from, to);
	return 0;
}

static int exchange(struct change_scope *t, struct end *from, struct end *to)
{
	int err;

	if (!to->exists)
		return -ENOENT;
	err = check_no_cycle(t, to, from);
	if (!err)
		err = end_adopt(t, from);
	if (!err)
		err = end_adopt(t, to);
	if (err < 0)
		return err;
	end_unlink(from);
	end_unlink(to);
	overlay_link(to->at, from->node);
	overlay_link(from->at, to->node);
	to->node->ctime = io_now_ns();
	finish(t, from, to);
	return 0;
}

static int rename_locked(struct change_scope *t, struct end *from, struct end *to,
			 unsigned int flags)
{
	int err = end_find(t, from);

	rwlock_assert_written(&t->s->lock);
	if (!err)
		err = end_find(t, to);
	if (err < 0)
		return err;
	if (!from->exists)
		return -ENOENT;
	if (to->exists && (flags & RENAME_NOREPLACE))
		return -EEXIST;
	if (from->dir == to->dir && strcmp(from->name, to->name) == 0)
		return 0;
	err = check_no_cycle(t, from, to);
	if (err < 0)
		return err;
	return flags & RENAME_EXCHANGE ? exchange(t, from, to) : move(t, from, to);
}

int session_rename(struct view *v, int64_t dir, const char *name, int64_t to_dir,
		   const char *to_name, unsigned int flags)
{
	struct end from = { .dir = dir, .name = name }, to = { .dir = to_dir, .name = to_name };
	struct change_scope t;
	int err;

	if (flags & ~(unsigned int)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	err = change_begin(&t, v);
	return err < 0 ? err : change_end(&t, rename_locked(&t, &from, &to, flags));
}
