/* SPDX-License-Identifier: MIT */
/*
 * What fstat of a descriptor is told when gc has removed the version since it was opened (P4).
 * Only for inodes whose attributes the kernel does not keep. Layer: fuse.
 */
#ifndef FENCE_FUSE_STATE_INODE_OPENED_H
#define FENCE_FUSE_STATE_INODE_OPENED_H

#include "fuse/state/inode.h"

#include <stdbool.h>

struct fs;

/* It is being opened: its attributes outlive its version. Without memory they do not. */
void inode_opened_keep(struct fs *fs, struct inode *inode);
/* Whether they were kept. */
bool inode_opened_attr(const struct inode *inode, struct node *out);

#endif
