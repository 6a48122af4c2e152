/* SPDX-License-Identifier: MIT */
/* Listing directories: OPENDIR, READDIR, READDIRPLUS. RELEASEDIR is fs_release(). */
#ifndef FENCE_FUSE_OPS_READDIR_H
#define FENCE_FUSE_OPS_READDIR_H

#include <fuse_lowlevel.h>

void fs_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void fs_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void fs_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi);

#endif
