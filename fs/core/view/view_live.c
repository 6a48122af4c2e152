/* SPDX-License-Identifier: MIT */
/* The live tree: the current revision, read-only. Core layer. */
#include "core/view/view_impl.h"

#include "store/store.h"

#include <errno.h>
#include <stdlib.h>

static int live_lookup(struct view *v, struct db *db, int64_t rev, int64_t dir, const char *name,
		       struct node *out)
{
	struct entry e;
	int err = entry_lookup(db, dir, name, rev, &e);

	if (!err)
		node_from_entry(v, &e, out);
	return err;
}

static int live_getattr(struct view *v, struct db *db, int64_t rev, enum entry_kind kind,
			int64_t id, struct node *out)
{
	struct entry e;
	int err = base_row(db, rev, kind, id, &e);

	if (!err)
		node_from_entry(v, &e, out);
	return err;
}

static int live_readlink(struct view *v, struct db *db, int64_t id, char **out)
{
	(void)v;
	return entry_target(db, id, out);
}

static int live_list(struct view *v, struct db *db, int64_t rev, int64_t dir, const char *after,
		     struct named_node *out, int max)
{
	struct entry *rows = calloc((size_t)max, sizeof(*rows));
	int n;

	if (!rows)
		return -ENOMEM;
	n = entry_list(db, dir, rev, after, rows, max);
	for (int i = 0; i < n; i++) {
		node_from_entry(v, &rows[i], &out[i].node);
		__builtin_memcpy(out[i].name, rows[i].name, sizeof(out[i].name));
	}
	free(rows);
	return n;
}

static int live_getxattr(struct view *v, struct db *db, int64_t rev, enum entry_kind kind,
			 int64_t id, const char *name, void **out, size_t *out_len)
{
	struct entry e;
	int err = base_row(db, rev, kind, id, &e);

	(void)v;
	return err ? err : base_getxattr(db, &e, name, out, out_len);
}

static int live_listxattr(struct view *v, struct db *db, int64_t rev, enum entry_kind kind,
			  int64_t id, char **out, size_t *out_len)
{
	struct entry e;
	int err = base_row(db, rev, kind, id, &e);

	(void)v;
	return err ? err : base_listxattr(db, &e, out, out_len);
}

static void live_destroy(struct view *v)
{
	(void)v; /* lives as long as core */
}

static const struct view_ops view_live_ops = {
	.lookup = live_lookup,
	.getattr = live_getattr,
	.readlink = live_readlink,
	.list = live_list,
	.getxattr = live_getxattr,
	.listxattr = live_listxattr,
	.destroy = live_destroy,
};

struct view *view_live_new(struct core *c)
{
	struct view *v = calloc(1, sizeof(*v));

	if (v)
		view_init(v, c, &view_live_ops, false);
	return v;
}
