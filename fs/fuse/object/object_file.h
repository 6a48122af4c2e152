/* SPDX-License-Identifier: MIT */
/* Opening the files of a view. Layer: fuse. */
#ifndef FENCE_FUSE_OBJECT_OBJECT_FILE_H
#define FENCE_FUSE_OBJECT_OBJECT_FILE_H

#include "fuse/state/inode.h"

#include <fuse_lowlevel.h>

/* The `open` of struct inode_type. */
int object_file_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi);
/* The same for a file that was just made, and is empty: never waits. */
int object_file_open_new(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi);

#endif
