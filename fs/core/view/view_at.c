/* SPDX-License-Identifier: MIT */
/*
 * The whole tree at a revision, read-only. Core layer.
 *
 * Names and content are those of the revision. Permissions are narrower (P8): no door may give what
 * the permissions of the path deny, and a file that was public then may have been closed since. So
 * owner and group are those that the same name, or the same directory wherever it is now, had last,
 * and the mode is what both allow: past_mode.h. The kernel may cache them: a commit that changes
 * them drops the name, and the directory's attributes, in every view.
 */
#include "core/service/core_impl.h"
#include "core/access/past_mode.h"
#include "core/view/snapshot_impl.h"
#include "store/tree/revision.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct snapshot_list {
	struct lock lock; /* guards the list */
	struct snapshot *first;
};

struct snapshot {
	struct view view; /* first */
	struct snapshot *next;
	int64_t rev;
};

static struct snapshot *snapshot_of(struct view *v)
{
	return (struct snapshot *)(void *)v;
}

int node_from_past(const struct view *v, struct db *db, int64_t now, const struct entry *e,
		   struct node *out)
{
	struct entry access;
	int err = past_mode(db, now, e, &access);

	if (err < 0)
		return err;
	node_from_entry(v, e, out);
	out->mode = access.mode;
	out->uid = access.uid;
	out->gid = access.gid;
	return 0;
}

static int at_lookup(struct view *v, struct db *db, int64_t now, int64_t dir, const char *name,
		     struct node *out)
{
	struct entry e;
	int err = entry_lookup(db, dir, name, snapshot_of(v)->rev, &e);

	return err ? err : node_from_past(v, db, now, &e, out);
}

static int at_getattr(struct view *v, struct db *db, int64_t now, enum entry_kind kind, int64_t id,
		      struct node *out)
{
	struct entry e;
	int err = base_row(db, snapshot_of(v)->rev, kind, id, &e);

	return err ? err : node_from_past(v, db, now, &e, out);
}

static int at_readlink(struct view *v, struct db *db, int64_t id, char **out)
{
	(void)v;
	return entry_target(db, id, out);
}

static int at_list(struct view *v, struct db *db, int64_t now, int64_t dir, const char *after,
		   struct named_node *out, int max)
{
	struct entry *rows = calloc((size_t)max, sizeof(*rows));
	int n, err = 0;

	if (!rows)
		return -ENOMEM;
	n = entry_list(db, dir, snapshot_of(v)->rev, after, rows, max);
	for (int i = 0; i < n && !err; i++) {
		err = node_from_past(v, db, now, &rows[i], &out[i].node);
		strcpy(out[i].name, rows[i].name);
	}
	free(rows);
	return err ? err : n;
}

static int at_getxattr(struct view *v, struct db *db, int64_t now, enum entry_kind kind, int64_t id,
		       const char *name, void **out, size_t *out_len)
{
	struct entry e;
	int err = base_row(db, snapshot_of(v)->rev, kind, id, &e);

	(void)now;
	return err ? err : base_getxattr(db, &e, name, out, out_len);
}

static int at_listxattr(struct view *v, struct db *db, int64_t now, enum entry_kind kind,
			int64_t id, char **out, size_t *out_len)
{
	struct entry e;
	int err = base_row(db, snapshot_of(v)->rev, kind, id, &e);

	(void)now;
	return err ? err : base_listxattr(db, &e, out, out_len);
}

/*
 * The list holds no reference: a snapshot leaves it when its last one goes (take_if_alive() does
 * not revive it).
 */
static void at_destroy(struct view *v)
{
	struct snapshot_list *list = v->core->snapshots;
	struct snapshot **at;

	lock_take(&list->lock);
	for (at = &list->first; *at != snapshot_of(v); at = &(*at)->next)
		;
	*at = snapshot_of(v)->next;
	lock_drop(&list->lock);
	free(v);
}

static const struct view_ops at_ops = {
	.lookup = at_lookup,
	.getattr = at_getattr,
	.readlink = at_readlink,
	.list = at_list,
	.getxattr = at_getxattr,
	.listxattr = at_listxattr,
	.destroy = at_destroy,
};

int snapshot_list_init(struct core *c)
{
	c->snapshots = calloc(1, sizeof(*c->snapshots));
	if (!c->snapshots)
		return -ENOMEM;
	lock_init(&c->snapshots->lock, LOCK_SNAPSHOTS);
	return 0;
}

void snapshot_list_fini(struct core *c)
{
	lock_fini(&c->snapshots->lock);
	free(c->snapshots);
}

int64_t snapshot_newest(struct core *c)
{
	return atomic_load(&c->live.rev);
}

/*
 * A snapshot in the list may be at zero references, its destroyer waiting for the lock: only one
 * that is still referred to is taken, by a compare-and-swap, so that a destroyer that goes on never
 * meets a reader.
 */
static bool take_if_alive(struct view *v)
{
	int refs = atomic_load(&v->refs);

	while (refs > 0)
		if (atomic_compare_exchange_weak(&v->refs, &refs, refs + 1))
			return true;
	return false;
}

int snapshot_at(struct core *c, int64_t revision, struct view **out)
{
	struct snapshot_list *list = c->snapshots;
	struct snapshot *s;

	if (revision < 0 || revision > snapshot_newest(c))
		return -ENOENT;
	lock_take(&list->lock);
	for (s = list->first; s; s = s->next)
		if (s->rev == revision && take_if_alive(&s->view))
			break;
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (s) {
			view_init(&s->view, c, &at_ops, false);
			s->view.frozen = true;
			s->rev = revision;
			s->next = list->first;
			list->first = s;
		}
	}
	lock_drop(&list->lock);
	if (!s)
		return -ENOMEM;
	*out = &s->view;
	return 0;
}

int snapshot_by_time(struct core *c, int64_t at, int64_t *out)
{
	struct db *db;
	int64_t rev;
	int err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return err;
	err = revision_at_time(db, at, rev, out);
	core_read_end(c, db);
	return err;
}
