/* SPDX-License-Identifier: MIT */
/*
 * What the kernel knows: one struct inode per nodeid that it has been told of and has not
 * forgotten (inode_table.h). Layer: fuse.
 *
 * An inode is an object of a view, or a node of .fence; what can be done with it stands in its
 * type.
 */
#ifndef FENCE_FUSE_STATE_INODE_H
#define FENCE_FUSE_STATE_INODE_H

#include "core/view/node.h"

#include <stdatomic.h>
#include <stdint.h>

struct inode_table;
struct inode_type;
struct view;

#define VIEW_ROOT_DIR INT64_C(1) /* the root's id in every view, as core/view/view.h has it */

/* How the kernel reads and writes the content of a file while it is open. */
enum backing_state {
	BACKING_NONE,	  /* not open */
	BACKING_DECIDING, /* its first open is asking the kernel */
	BACKING_DECIDED,  /* through backing_id; 0: through the daemon and the page cache */
};

struct inode {
	/* Constant. */
	struct inode_table *table;
	const struct inode_type *type;
	struct view *view; /* owned; NULL for those of .fence that are not in a view */
	int64_t id;	   /* in the view; of a reject its row */
	uint64_t nodeid;
	/* Owned; see inode_opened.h. Set once. */
	_Atomic(struct node *) opened;

	/* Guarded by the table's lock. */
	enum backing_state backing;
	int32_t backing_id;
	uint32_t opens; /* handles that use `backing` */
	uint32_t refs;
	uint64_t lookups;
	struct inode *next_by_nodeid, *next_by_key;
	/* Directories: all views' inodes of one directory id share a chain. */
	struct inode *next_by_dir;
};

#endif
