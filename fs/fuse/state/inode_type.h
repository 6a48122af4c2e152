/* SPDX-License-Identifier: MIT */
/*
 * What an inode is: its operations. One such table for each kind: those of a view's objects in
 * object/, those of .fence in control/. Layer: fuse.
 *
 * A request handler (ops/) finds the inode, calls the operation, and replies; an operation never
 * replies. One that is NULL means the error that stands beside it.
 */
#ifndef FENCE_FUSE_STATE_INODE_TYPE_H
#define FENCE_FUSE_STATE_INODE_TYPE_H

#include "core/view/node.h"

#include <stdbool.h>

#include <fuse_lowlevel.h>

struct fs;
struct inode;

struct inode_type {
	enum entry_kind kind; /* what stat shows */
	uint32_t mode;	      /* of a node of .fence, see control_attr() */
	bool is_fresh;	      /* every lookup makes one, which nothing finds again by its key */

	int (*attr)(struct fs *fs, const struct inode *inode, struct node *out);
	/* 0; or 1: the request is parked, and answered later. NULL: -EPERM. */
	int (*setattr)(fuse_req_t req, struct inode *inode, const struct node_change *ch,
		       struct node *out);
	/* *out malloc'd. NULL: -EINVAL. */
	int (*readlink)(const struct inode *inode, char **out);
	/* 0: fi->fh is a handle, its flags are for the reply; 1: as above. NULL: -ESTALE. */
	int (*open)(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi);

	/* *out counts one lookup, if it has an inode. NULL: -ENOTDIR. */
	int (*lookup)(struct fs *fs, const struct inode *dir, const char *name,
		      struct fuse_entry_param *out);
	/*
	 * Of a directory that is no view's: the entry at @off (0 is the first), and the offset
	 * after it. 1, 0 at the end, -errno. *state is the listing's, NULL at its start, and goes
	 * with free().
	 */
	int (*next)(struct fs *fs, void **state, int64_t off, struct named_node *out,
		    int64_t *out_next);
};

#endif
