/* SPDX-License-Identifier: MIT */
/* Open files with content: of a view, and what a refused writer had written. Layer: fuse. */
#ifndef FENCE_FUSE_OBJECT_OPEN_FILE_H
#define FENCE_FUSE_OBJECT_OPEN_FILE_H

#include "fuse/state/handle.h"

struct content;

struct open_file {
	struct handle h;
	struct content *content; /* owned */
	bool uses_backing;	 /* counted in the inode's `opens` */
};

/* A handle of @inode, for fi->fh. @content is consumed, also on failure. */
int open_file_new(fuse_req_t req, struct inode *inode, struct content *content,
		  struct fuse_file_info *fi);
/* The open file behind @fi, or NULL if that is a handle of another type. */
struct open_file *open_file_of(const struct fuse_file_info *fi);
/* The same for a request that changes content: -EBADF. It proves that the open was completed. */
int open_file_for_change(const struct fuse_file_info *fi, struct open_file **out);

#endif
