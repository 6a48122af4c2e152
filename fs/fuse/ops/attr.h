/* SPDX-License-Identifier: MIT */
/* From core's nodes to what a reply carries. */
#ifndef FENCE_FUSE_OPS_ATTR_H
#define FENCE_FUSE_OPS_ATTR_H

#include "fuse/ops/fs.h"

struct view;

/* Attributes of an object of @view; the root of a session's view is its owner's alone. */
int attr_of_view(struct view *view, enum entry_kind kind, int64_t id, struct node *out);
/* Attributes of whatever @inode is. */
int attr_of_inode(struct fs *fs, const struct inode *inode, struct node *out);

void attr_fill(const struct node *n, struct stat *out);
double attr_timeout(const struct node *n);
/* An entry for @n of @view: its inode is found or made, and one lookup of it counted. */
int attr_entry(struct fs *fs, struct view *view, const struct node *n,
	       struct fuse_entry_param *out);

void fs_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		struct fuse_file_info *fi);
void fs_readlink(fuse_req_t req, fuse_ino_t ino);
void fs_statfs(fuse_req_t req, fuse_ino_t ino);

/* Of a file that is being opened: so that its attributes outlive its version. */
void attr_remember(struct fs *fs, struct inode *inode);

#endif
