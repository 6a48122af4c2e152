/* SPDX-License-Identifier: MIT */
/* Extended attributes. */
#ifndef FENCE_FUSE_OPS_XATTR_H
#define FENCE_FUSE_OPS_XATTR_H

#include <fuse_lowlevel.h>

void fs_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void fs_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void fs_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size,
		 int flags);
void fs_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
