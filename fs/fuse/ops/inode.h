/* SPDX-License-Identifier: MIT */
/*
 * What the kernel knows: one struct inode per nodeid that it has been told of and has not
 * forgotten.
 *
 * A nodeid is a 64-bit counter and never used twice, so content under one nodeid never changes
 * except through this kernel. An object of a view, (view, directory or not, id), has one inode at a
 * time: finding and inserting it is one critical section.
 *
 * An inode lives while the kernel counts lookups of it or somebody here holds a reference (a
 * handler at work, an open handle: RELEASE and FORGET come by different ways and in no order).
 */
#ifndef FENCE_FUSE_OPS_INODE_H
#define FENCE_FUSE_OPS_INODE_H

#include "core/view/node.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inode_table;
struct view;

enum inode_kind {
	INODE_FILE,
	INODE_DIR,
	INODE_SYMLINK,
	INODE_CONTROL, /* a fixed node of .fence, id from control.h */
	INODE_CTL,     /* .fence/ctl: a fresh one for each lookup */
	INODE_EVENTS,  /* .fence/events: likewise */
	INODE_REJECT,  /* .fence/rejects/ID */
	INODE_REPORT,  /* .fence/metrics and the like, id from report_file.h */
};

#define VIEW_ROOT_DIR	 INT64_C(1)  /* the root's id in every view, as core/view/view.h has it */
#define NODEID_ROOT	 UINT64_C(1) /* as FUSE has it */
#define NODEID_FIRST	 UINT64_C(1024) /* smaller ones are the root and the control nodes */
#define CONTROL_NODE_MAX 16		/* control nodes have nodeids 2 ... CONTROL_NODE_MAX - 1 */

/* How the kernel reads and writes the content of a file while it is open. */
enum backing_state {
	BACKING_NONE,	  /* not open */
	BACKING_DECIDING, /* its first open is asking the kernel */
	BACKING_DECIDED,  /* through backing_id; 0: through the daemon and the page cache */
};

struct inode {
	/* Constant. */
	struct inode_table *table;
	struct view *view; /* owned; NULL for those of .fence that are not in a view */
	int64_t id;	   /* in the view; the control node; the reject row */
	uint64_t nodeid;
	enum inode_kind kind;
	/*
	 * Owned; what fstat of a descriptor is told when gc has pruned the version since it was
	 * opened (P4). Set once, by an open of what the kernel keeps no attributes of.
	 */
	_Atomic(struct node *) opened;

	/* Guarded by the table's lock. */
	enum backing_state backing;
	int32_t backing_id;
	uint32_t opens; /* handles that use `backing` */
	uint32_t refs;
	uint64_t lookups;
	struct inode *next_by_nodeid, *next_by_key;
	struct inode
		*next_by_dir; /* directories: all views' inodes of one directory id share a chain */
};

/* @live: the view whose root is the root of the mount. */
int inode_table_new(struct view *live, struct inode_table **out);
void inode_table_free(struct inode_table *t);

/* A reference, or NULL when the kernel cannot know @nodeid. */
struct inode *inode_get(struct inode_table *t, uint64_t nodeid);
void inode_ref(struct inode *inode);
void inode_put(struct inode *inode);

/*
 * The inode of object @id of @view is about to be named in a reply: one lookup is counted,
 * *out_nodeid is for the reply. Undone by inode_forget() if the reply cannot be sent.
 */
int inode_learn(struct inode_table *t, struct view *view, enum inode_kind kind, int64_t id,
		uint64_t *out_nodeid);
/* The same for an inode that nothing will find again by its key. */
int inode_learn_fresh(struct inode_table *t, enum inode_kind kind, uint64_t *out_nodeid);
void inode_forget(struct inode_table *t, uint64_t nodeid, uint64_t lookups);
/* The nodeid under which the kernel knows object @id of @view; 0: it does not. */
uint64_t inode_find(struct inode_table *t, const struct view *view, enum inode_kind kind,
		    int64_t id);

/*
 * The nodeids of directory @dir in all views that the kernel knows it in; *out malloc'd. The count.
 */
int inode_of_dir(struct inode_table *t, int64_t dir, uint64_t **out);

/* How many the kernel knows. */
size_t inode_count(struct inode_table *t);

enum entry_kind inode_entry_kind(const struct inode *inode);
enum inode_kind inode_kind_of(enum entry_kind kind);

static inline void cleanup_inode(struct inode **inode)
{
	if (*inode)
		inode_put(*inode);
}

#define auto_inode __attribute__((cleanup(cleanup_inode)))

#endif
