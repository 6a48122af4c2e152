/* SPDX-License-Identifier: MIT */
/*
 * The inodes that the kernel knows, found by nodeid, and by what they are. Layer: fuse.
 *
 * A nodeid is a 64-bit counter and never used twice, so content under one nodeid never changes
 * except through this kernel. An object of a view, (view, type, id), has one inode at a time:
 * finding and inserting it is one critical section.
 *
 * An inode lives while the kernel counts lookups of it or somebody here holds a reference (a
 * handler at work, an open handle: RELEASE and FORGET come by different ways and in no order).
 * Fixed inodes live as long as the table.
 */
#ifndef FENCE_FUSE_STATE_INODE_TABLE_H
#define FENCE_FUSE_STATE_INODE_TABLE_H

#include "fuse/state/inode.h"

#include <stddef.h>

#define NODEID_ROOT	 UINT64_C(1)	/* as FUSE has it */
#define NODEID_FIXED_MAX 32		/* fixed inodes have nodeids 2 ... NODEID_FIXED_MAX - 1 */
#define NODEID_FIRST	 UINT64_C(1024) /* of all others; smaller ones are the root, or fixed */

/* @live: the view whose root is the root of the mount; @root: that directory's type. */
int inode_table_new(struct view *live, const struct inode_type *root, struct inode_table **out);
void inode_table_free(struct inode_table *t);
/* Inode @nodeid is of @type, outside any view, for as long as there is a mount. Before that. */
void inode_table_fix(struct inode_table *t, uint64_t nodeid, const struct inode_type *type);

/* A reference, or NULL when the kernel cannot know @nodeid. */
struct inode *inode_get(struct inode_table *t, uint64_t nodeid);
void inode_ref(struct inode *inode);
void inode_put(struct inode *inode);

/*
 * The inode of object @id of @view is about to be named in a reply: one lookup is counted,
 * *out_nodeid is for the reply. Undone by inode_forget() if the reply cannot be sent.
 */
int inode_learn(struct inode_table *t, struct view *view, const struct inode_type *type, int64_t id,
		uint64_t *out_nodeid);
/* The same for an inode of a type that is_fresh. */
int inode_learn_fresh(struct inode_table *t, const struct inode_type *type, uint64_t *out_nodeid);
void inode_forget(struct inode_table *t, uint64_t nodeid, uint64_t lookups);
/* The nodeid under which the kernel knows object @id of @view; 0: it does not. */
uint64_t inode_find(struct inode_table *t, const struct view *view, const struct inode_type *type,
		    int64_t id);

/*
 * The nodeids of directory @dir in all views that the kernel knows it in; *out malloc'd. The count.
 */
int inode_of_dir(struct inode_table *t, int64_t dir, uint64_t **out);

/* How many the kernel knows, the fixed ones left out. */
size_t inode_count(struct inode_table *t);

static inline void cleanup_inode(struct inode **inode)
{
	if (*inode)
		inode_put(*inode);
}

#define auto_inode __attribute__((cleanup(cleanup_inode)))

#endif
