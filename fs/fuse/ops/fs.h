/* SPDX-License-Identifier: MIT */
/*
 * The mounted file system: what all request handlers share. Layer: fuse.
 *
 * A handler decodes, makes one call into core, and replies exactly once. It holds no lock when it
 * replies. What is cached: names and attributes without limit (core's notifier drops what a commit
 * changes), except in the moment in which a commit becomes visible (struct node, cacheable).
 */
#ifndef FENCE_FUSE_OPS_FS_H
#define FENCE_FUSE_OPS_FS_H

#include "fuse/ops/fs_metrics.h"
#include "fuse/ops/inode.h"
#include "fuse/mount/watchdog.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <fuse_lowlevel.h>

#include "base/path.h"

#define CACHE_FOREVER 1e9 /* seconds; the kernel's longest is longer */

struct core;
struct kernel_hooks;
struct notify_socket;

struct fs {
	struct core *core;	     /* borrowed from the daemon's main */
	struct inode_table *inodes;  /* owned */
	struct handle_list *handles; /* owned */
	struct fuse_session
		*_Atomic session; /* borrowed; NULL before the mount and after the unmount */
	uid_t uid;		  /* owner of .fence: who runs the daemon */
	gid_t gid;
	int64_t started; /* ns since the epoch: the times of .fence */
	bool want_passthrough;
	bool want_uring;
	atomic_bool passthrough; /* granted by the kernel, and no registration has failed yet */
	atomic_bool uring;
	struct fs_metrics metrics;
	/* INIT has been handled: from now on the mount answers. */
	void (*ready)(void *arg);
	void *ready_arg;
	const struct notify_socket *notify; /* borrowed; NULL: nobody to tell */
	struct watchdog watchdog;
};

/* @core: borrowed, started with @hooks from fs_hooks(). */
int fs_new(struct fs **out);
int fs_attach(struct fs *fs, struct core *core);
/* Closes what the kernel has left open. After the session's loop has ended, before core_free(). */
void fs_detach(struct fs *fs);
void fs_free(struct fs *fs);
void fs_hooks(struct fs *fs, struct kernel_hooks *out);
extern const struct fuse_lowlevel_ops fs_ops;

static inline struct fs *fs_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* -ENAMETOOLONG: the kernel passes longer names (FUSE_NAME_MAX, 1024) than a store holds. */
static inline int name_check(const char *name)
{
	return strnlen(name, FENCE_NAME_MAX + 1) > FENCE_NAME_MAX ? -ENAMETOOLONG : 0;
}

#endif
