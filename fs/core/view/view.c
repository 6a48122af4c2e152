/* SPDX-License-Identifier: MIT */
/*
 * Dispatch of view operations. Core layer.
 *
 * Caching rule (P3): whether a reply may be cached is read before the data is. A commit becomes
 * visible in this order: window opens; kernel drops the changed names (which waits for the lookups
 * that run, they hold the parent's lock); live_rev moves; window closes. So a cacheable reply
 * computed from the old revision is dropped by the kernel before the new one shows anywhere, and
 * one computed inside the window is not cached at all.
 */
#include "core/view/view_impl.h"

#include "core/service/core_impl.h"

#include <errno.h>

void view_init(struct view *v, struct core *core, const struct view_ops *ops, bool writable)
{
	v->ops = ops;
	v->core = core;
	v->writable = writable;
	v->number = atomic_fetch_add(&core->next_view, 1);
	atomic_init(&v->refs, 1);
}

struct view *view_get(struct view *v)
{
	atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
	return v;
}

void view_put(struct view *v)
{
	if (atomic_fetch_sub(&v->refs, 1) == 1)
		v->ops->destroy(v);
}

uint64_t view_number(const struct view *v)
{
	return v->number;
}

bool view_is_writable(const struct view *v)
{
	return v->writable;
}

bool view_is_frozen(const struct view *v)
{
	return v->frozen;
}

bool view_is_uncached(const struct view *v)
{
	return v->uncached;
}

int view_lookup(struct view *v, int64_t dir, const char *name, struct node *out,
		bool *out_cacheable_absence)
{
	bool cacheable = !v->uncached && !atomic_load(&v->core->live.window);
	struct db *db;
	int64_t rev;
	int err = core_read_begin(v->core, &db, &rev);

	if (err < 0)
		return err;
	err = v->ops->lookup(v, db, rev, dir, name, out);
	core_read_end(v->core, db);
	if (err == -ENOENT)
		*out_cacheable_absence = cacheable;
	if (!err)
		out->cacheable = cacheable;
	return err;
}

int view_getattr(struct view *v, enum entry_kind kind, int64_t id, struct node *out)
{
	bool cacheable = !v->uncached && !atomic_load(&v->core->live.window);
	struct db *db;
	int64_t rev;
	int err = core_read_begin(v->core, &db, &rev);

	if (err < 0)
		return err;
	err = v->ops->getattr(v, db, rev, kind, id, out);
	core_read_end(v->core, db);
	if (!err)
		out->cacheable = cacheable;
	return err;
}

int view_readlink(struct view *v, int64_t id, char **out_target)
{
	struct db *db;
	int64_t rev;
	int err = core_read_begin(v->core, &db, &rev);

	if (err < 0)
		return err;
	err = v->ops->readlink(v, db, id, out_target);
	core_read_end(v->core, db);
	return err;
}

int view_list(struct view *v, int64_t dir, int64_t *rev, const char *after, struct named_node *out,
	      int max)
{
	bool cacheable = !v->uncached && !atomic_load(&v->core->live.window);
	struct db *db;
	int64_t now;
	int n = core_read_begin(v->core, &db, &now);

	if (n < 0)
		return n;
	if (!*rev)
		*rev = now ? now : 1; /* a store without a commit is empty at any revision */
	cacheable = cacheable && (v->frozen || *rev == now);
	n = v->ops->list(v, db, *rev, dir, after, out, max);
	core_read_end(v->core, db);
	for (int i = 0; i < n; i++)
		out[i].node.cacheable = cacheable;
	return n;
}

int view_getxattr(struct view *v, enum entry_kind kind, int64_t id, const char *name, void **out,
		  size_t *out_len)
{
	struct db *db;
	int64_t rev;
	int err = core_read_begin(v->core, &db, &rev);

	if (err < 0)
		return err;
	err = v->ops->getxattr(v, db, rev, kind, id, name, out, out_len);
	core_read_end(v->core, db);
	return err;
}

int view_listxattr(struct view *v, enum entry_kind kind, int64_t id, char **out, size_t *out_len)
{
	struct db *db;
	int64_t rev;
	int err = core_read_begin(v->core, &db, &rev);

	if (err < 0)
		return err;
	err = v->ops->listxattr(v, db, rev, kind, id, out, out_len);
	core_read_end(v->core, db);
	return err;
}

void view_node_get(struct view *v, enum entry_kind kind, int64_t id)
{
	if (v->ops->node_get)
		v->ops->node_get(v, kind, id);
}

void view_node_put(struct view *v, enum entry_kind kind, int64_t id)
{
	if (v->ops->node_put)
		v->ops->node_put(v, kind, id);
}
