/* SPDX-License-Identifier: MIT */
/*
 * The mounted file system: what all request handlers share. Layer: fuse.
 *
 * What is cached: names and attributes without limit (core's notifier drops what a commit changes),
 * except in the moment in which a commit becomes visible (struct node, cacheable).
 */
#ifndef FENCE_FUSE_STATE_FS_H
#define FENCE_FUSE_STATE_FS_H

#include "fuse/mount/watchdog.h"
#include "fuse/state/fs_counters.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <fuse_lowlevel.h>

#define CACHE_FOREVER 1e9 /* seconds; the kernel's longest is longer */

struct core;
struct handle_list;
struct inode_table;

struct fs {
	struct core *core;	     /* borrowed from the daemon's main */
	struct inode_table *inodes;  /* owned */
	struct handle_list *handles; /* owned */
	/* Borrowed; NULL before the mount and after the unmount. */
	struct fuse_session *_Atomic session;
	uid_t uid; /* owner of .fence: who runs the daemon */
	gid_t gid;
	int64_t started; /* ns since the epoch: the times of .fence */
	bool want_passthrough;
	bool want_uring;
	atomic_bool passthrough; /* granted by the kernel, and no registration has failed yet */
	atomic_bool uring;
	struct fs_counters counters;
	/* INIT has been handled: from now on the mount answers. */
	void (*ready)(void *arg);
	void *ready_arg;
	struct watchdog watchdog;
};

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

#endif
