/* SPDX-License-Identifier: MIT */
/* Open files: OPEN, CREATE, FLUSH, RELEASE. What is done with them is in data.h. */
#ifndef FENCE_FUSE_OPS_OPEN_H
#define FENCE_FUSE_OPS_OPEN_H

#include "fuse/ops/handle.h"

struct content;

struct open_file {
	struct handle h;
	struct fs *fs;
	struct content *content; /* owned */
	bool uses_backing;	 /* counted in the inode's `opens` */
};

/* The open file behind @fi, or NULL if that is a handle of another type. */
struct open_file *open_file_of(const struct fuse_file_info *fi);
/* The same for a request that changes content: -EBADF. It proves that the open was completed. */
int open_file_for_change(const struct fuse_file_info *fi, struct open_file **out);

void fs_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	       struct fuse_file_info *fi);
void fs_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

#endif
