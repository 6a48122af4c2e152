/* SPDX-License-Identifier: MIT */
/* Making the kernel forget what a commit changes: for core's notifier. Layer: fuse. */
#ifndef FENCE_FUSE_OPS_INVALIDATE_H
#define FENCE_FUSE_OPS_INVALIDATE_H

struct fs;
struct kernel_hooks;

/* @fs: borrowed, for as long as they are called. */
void invalidate_hooks(struct fs *fs, struct kernel_hooks *out);

#endif
