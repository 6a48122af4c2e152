/* SPDX-License-Identifier: MIT */
/* Objects of views (the live tree, a session's, the past) as inodes. Layer: fuse. */
#ifndef FENCE_FUSE_OBJECT_OBJECT_H
#define FENCE_FUSE_OBJECT_OBJECT_H

#include "fuse/state/inode.h"

#include <stdbool.h>

#include <fuse_lowlevel.h>

struct fs;

extern const struct inode_type object_file, object_dir, object_symlink;

/* A directory in which names can be looked up and changed as @inode's view allows. */
static inline bool object_is_dir(const struct inode *inode)
{
	return inode->type == &object_dir;
}

/* An entry for @n of @view: its inode is found or made, and one lookup of it counted. */
int object_entry(struct fs *fs, struct view *view, const struct node *n,
		 struct fuse_entry_param *out);
/* The same for the root of @view. */
int object_root_entry(struct fs *fs, struct view *view, struct fuse_entry_param *out);
/* -ENAMETOOLONG: the kernel passes longer names (FUSE_NAME_MAX, 1024) than a store holds. */
int object_name_check(const char *name);

#endif
