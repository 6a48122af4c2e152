/* SPDX-License-Identifier: MIT */
/* Names to inodes, and their end: LOOKUP, FORGET. */
#ifndef FENCE_FUSE_OPS_LOOKUP_H
#define FENCE_FUSE_OPS_LOOKUP_H

#include <fuse_lowlevel.h>

void fs_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void fs_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups);
void fs_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);

#endif
