/* SPDX-License-Identifier: MIT */
/* Changing names: MKDIR, SYMLINK, MKNOD, LINK, UNLINK, RMDIR, RENAME. CREATE is in open.h. */
#ifndef FENCE_FUSE_OPS_NAMES_H
#define FENCE_FUSE_OPS_NAMES_H

#include <fuse_lowlevel.h>

void fs_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void fs_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void fs_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void fs_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
void fs_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to_parent,
	       const char *to_name, unsigned int flags);

#endif
