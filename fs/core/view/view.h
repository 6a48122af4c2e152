/* SPDX-License-Identifier: MIT */
/*
 * A tree as somebody sees it: the live tree, a session's tree, (a snapshot). Read operations on any
 * view. Directory 1 (STORE_ROOT_DIR) is the root of each. The caller's permission is the kernel's
 * business (default_permissions); nothing here checks modes. All are thread-safe and never wait for
 * the committer or the notifier: they may run while the kernel holds a directory's lock. A view of
 * an ended session answers -ESTALE.
 */
#ifndef FENCE_CORE_VIEW_VIEW_H
#define FENCE_CORE_VIEW_VIEW_H

#include "core/view/node.h"

#include <stddef.h>

struct content;
struct core;
struct view;

/* References: an inode or an open handle holds one. */
struct view *view_get(struct view *v);
void view_put(struct view *v);
/* Unique number of the view for the life of the process: 0 is the live tree; never reused. */
uint64_t view_number(const struct view *v);
bool view_is_writable(const struct view *v); /* a session */
/* Content and listing never change (a snapshot): the kernel may cache directories too. */
bool view_is_frozen(const struct view *v);
/* What it shows may change, or go away, without the kernel being told. */
bool view_is_uncached(const struct view *v);

int view_lookup(struct view *v, int64_t dir, const char *name, struct node *out,
		bool *out_cacheable_absence);
int view_getattr(struct view *v, enum entry_kind kind, int64_t id, struct node *out);
int view_readlink(struct view *v, int64_t id, char **out_target); /* malloc'd */
/*
 * Up to @max entries of @dir after name @after (memcmp order; "" from the start). *rev is 0 at the
 * first call of a listing and then passed back unchanged: a listing shows one revision to its end.
 * The count, 0 at the end, -errno.
 */
int view_list(struct view *v, int64_t dir, int64_t *rev, const char *after, struct named_node *out,
	      int max);

/*
 * user.fence.* are answered for unmodified files; user.* as stored. *out malloc'd. -ENODATA,
 * -EOPNOTSUPP (other namespaces). listxattr: names separated by NUL, without user.fence.*.
 */
int view_getxattr(struct view *v, enum entry_kind kind, int64_t id, const char *name, void **out,
		  size_t *out_len);
int view_listxattr(struct view *v, enum entry_kind kind, int64_t id, char **out, size_t *out_len);

/*
 * References on nodes made in a session: the kernel's inode holds one per view_node_get, so that an
 * unlinked file stays while it is open. No-ops for other nodes. lookup/create do not take one by
 * themselves: take it while the reply is prepared (the kernel holds the parent's lock then, so the
 * name cannot go between).
 */
void view_node_get(struct view *v, enum entry_kind kind, int64_t id);
void view_node_put(struct view *v, enum entry_kind kind, int64_t id);

#endif
