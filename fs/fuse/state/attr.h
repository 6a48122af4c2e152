/* SPDX-License-Identifier: MIT */
/* From core's nodes to what a reply carries. Layer: fuse. */
#ifndef FENCE_FUSE_STATE_ATTR_H
#define FENCE_FUSE_STATE_ATTR_H

#include "core/view/node.h"

#include <sys/stat.h>

#include <fuse_lowlevel.h>

void attr_fill(const struct node *n, struct stat *out);
/* How long the kernel may keep @n. */
double attr_timeout(const struct node *n);
/* An entry of inode @nodeid, kept as long as @n may be. */
void attr_entry(const struct node *n, uint64_t nodeid, struct fuse_entry_param *out);

#endif
