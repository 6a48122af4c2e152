/* SPDX-License-Identifier: MIT */
/* What the kernel's side counts; fs_metrics.h makes text of it. Layer: fuse. */
#ifndef FENCE_FUSE_STATE_FS_COUNTERS_H
#define FENCE_FUSE_STATE_FS_COUNTERS_H

#include "core/meter/metrics.h"

/* Requests that are timed: all that are answered, but INIT and what answers a notification. */
enum fs_op {
	FS_OP_LOOKUP,
	FS_OP_GETATTR,
	FS_OP_SETATTR,
	FS_OP_READLINK,
	FS_OP_STATFS,
	FS_OP_MKNOD,
	FS_OP_MKDIR,
	FS_OP_SYMLINK,
	FS_OP_LINK,
	FS_OP_UNLINK,
	FS_OP_RMDIR,
	FS_OP_RENAME,
	FS_OP_CREATE,
	FS_OP_OPEN,
	FS_OP_READ,
	FS_OP_WRITE,
	FS_OP_FLUSH,
	FS_OP_RELEASE,
	FS_OP_FALLOCATE,
	FS_OP_LSEEK,
	FS_OP_POLL,
	FS_OP_COPY_FILE_RANGE,
	FS_OP_OPENDIR,
	FS_OP_READDIR,
	FS_OP_READDIRPLUS,
	FS_OP_RELEASEDIR,
	FS_OP_GETXATTR,
	FS_OP_SETXATTR,
	FS_OP_LISTXATTR,
	FS_OP_REMOVEXATTR,
	FS_OPS
};

enum open_way { OPEN_KERNEL, OPEN_DAEMON, OPEN_INLINE, OPEN_WAYS };
enum dropped_kind { DROPPED_NAME, DROPPED_DIR, DROPPED_SESSION, DROPPED_PAGES, DROPPED_KINDS };

struct fs_counters {
	struct histogram op_time[FS_OPS];
	metric_counter opens[OPEN_WAYS];
	metric_counter dropped[DROPPED_KINDS];
};

#endif
