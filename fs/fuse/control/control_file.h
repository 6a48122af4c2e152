/* SPDX-License-Identifier: MIT */
/*
 * The files and directories of .fence: one row each, one source each. What can be done with an open
 * one is its handle's type, with what it is its inode's. Layer: fuse.
 */
#ifndef FENCE_FUSE_CONTROL_CONTROL_FILE_H
#define FENCE_FUSE_CONTROL_CONTROL_FILE_H

#include "fuse/state/inode_type.h"

#include <stdint.h>

/* As .fence lists them. */
/* clang-format off */
#define CONTROL_FILES(row) \
	row(ctl_file) \
	row(events_file) \
	row(metrics_file) \
	row(status_file) \
	row(versions_dir) \
	row(sessions_dir) \
	row(rejects_dir) \
	row(at_dir)
/* clang-format on */

#define CONTROL_NODEID_UNKNOWN UINT32_MAX

struct control_file {
	const char *name;
	/* Of its inode; of one that is the root of a view, only what a listing shows. */
	const struct inode_type *type;
	/* The answer to a lookup of it. @nodeid is its own, if it is a fixed inode. */
	int (*entry)(struct fs *fs, const struct control_file *f, uint64_t nodeid,
		     struct fuse_entry_param *out);
};

#define CONTROL_FILE_DECLARE(file) extern const struct control_file file;
CONTROL_FILES(CONTROL_FILE_DECLARE)
#undef CONTROL_FILE_DECLARE

/*
 * For `entry`: one inode for all, which the kernel keeps. Or one of its own for each lookup: the
 * kernel serialises direct writes to one inode, whoever makes them, and so no conversation waits
 * for another.
 */
int control_file_fixed(struct fs *fs, const struct control_file *f, uint64_t nodeid,
		       struct fuse_entry_param *out);
int control_file_fresh(struct fs *fs, const struct control_file *f, uint64_t nodeid,
		       struct fuse_entry_param *out);

/* The `attr` of both, and the `setattr` of what is written to. */
int control_file_attr(struct fs *fs, const struct inode *inode, struct node *out);
int control_file_setattr(fuse_req_t req, struct inode *inode, const struct node_change *ch,
			 struct node *out);

/* What stat of inode @nodeid of @type shows. */
void control_file_node(struct fs *fs, const struct inode_type *type, uint64_t nodeid,
		       struct node *out);
/* For a listing: something that has no nodeid before it is looked up. */
void control_file_listed(struct fs *fs, enum entry_kind kind, uint32_t mode, struct node *out);
/* A name that is a number as it is printed, without sign or leading zeros. Else -ENOENT. */
int control_file_number(const char *name, int64_t *out);

#endif
