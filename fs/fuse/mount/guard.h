/* SPDX-License-Identifier: MIT */
/* What becomes of the mount when its daemon is killed. Layer: fuse. */
#ifndef FENCE_FUSE_MOUNT_GUARD_H
#define FENCE_FUSE_MOUNT_GUARD_H

#include <sys/types.h>

struct guard {
	pid_t pid; /* -1: none */
	int fd;	   /* it waits for its end, or for a byte */
};

/*
 * mount(8) tells by a mount's source whether a line of fstab is mounted, and so takes a dead mount
 * for mounted: `mount -a` would leave it alone. So a process waits beside the daemon; when that has
 * died, it puts another dead mount in the place of its mount, with DEAD_MARK before the source. The
 * mount point is never bare, so no unfenced write gets through, and `mount -a` mounts.
 *
 * For daemons of root, on Linux 6.5 or newer. @source: of the mount. @argv: of main(), overwritten
 * in the new process so that it is not taken for a daemon. Before there are threads. The result is
 * to be given to guard_dismiss(). That there is no guard is no error.
 */
struct guard guard_start(const char *mountpoint, const char *source, char **argv);
/* The daemon ends in order: nothing is to be done. Waits for the guard's end. */
void guard_dismiss(struct guard g);

#endif
