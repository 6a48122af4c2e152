/* SPDX-License-Identifier: MIT */
/* The mounted file system, from its making to its end, and its handlers. Layer: fuse. */
#ifndef FENCE_FUSE_OPS_FS_OPS_H
#define FENCE_FUSE_OPS_FS_OPS_H

#include <fuse_lowlevel.h>

struct core;
struct fs;

int fs_new(struct fs **out);
/* @core: borrowed, started with the hooks of invalidate.h. */
int fs_attach(struct fs *fs, struct core *core);
/* Closes what the kernel has left open. After the session's loop has ended, before core_free(). */
void fs_detach(struct fs *fs);
void fs_free(struct fs *fs);

extern const struct fuse_lowlevel_ops fs_ops;

#endif
