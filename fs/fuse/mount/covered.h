/* SPDX-License-Identifier: MIT */
/* What a mount hides. Layer: fuse. */
#ifndef FENCE_FUSE_MOUNT_COVERED_H
#define FENCE_FUSE_MOUNT_COVERED_H

/*
 * A line in the log if the directory @mountpoint is not empty: the kernel allows that, but whoever
 * has put something there will miss it. Before the mount.
 */
void covered_warn(const char *mountpoint);

#endif
