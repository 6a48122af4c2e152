/* SPDX-License-Identifier: MIT */
/* Mounts that a killed daemon has left behind. */
#ifndef FENCE_FUSE_MOUNT_STALE_H
#define FENCE_FUSE_MOUNT_STALE_H

#include "base/errmsg.h"

#include <stdbool.h>

/*
 * The absolute path of @mountpoint, malloc'd, also if a dead mount lies on it ("Transport endpoint
 * is not connected"), where realpath() fails. -ENOTDIR: not a directory.
 */
int stale_resolve(const char *mountpoint, char **out, struct errmsg *err);

/*
 * Take away the dead mounts of this very store from @mountpoint (absolute). @store, @store_path:
 * the two ways in which the mount's source may be written. Call with the store locked: then no
 * daemon of it is alive. -EBUSY: the dead mount is somebody else's.
 */
int stale_clear(const char *mountpoint, const char *store, const char *store_path,
		struct errmsg *err);

/*
 * The dead mount of @source (as the kernel shows it) at @mountpoint is from now on one of DEAD_MARK
 * @source (base/dead_mark.h). -ENOENT: there is none. -EINVAL: it takes Linux 6.5.
 */
int stale_mark(const char *mountpoint, const char *source);
/* Whether the uppermost mount at @mountpoint (absolute) is a fencefs of @source. */
bool stale_is_of(const char *mountpoint, const char *source);

/*
 * Whether @mountpoint (absolute) waits for somebody to look at it, and then for a mount: ours, so
 * that we would wait for ourselves.
 */
bool stale_is_automount(const char *mountpoint);

/* Whether a fencefs is mounted at @mountpoint (absolute), alive or dead. */
bool stale_is_mounted(const char *mountpoint);

#endif
