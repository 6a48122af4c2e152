/* SPDX-License-Identifier: MIT */
/* STORE/lock: one process at a time. */
#ifndef FENCE_STORE_STORE_LOCK_H
#define FENCE_STORE_STORE_LOCK_H

#include "base/errmsg.h"

/*
 * Lock STORE/lock below @root and write our pid and @mountpoint (may be NULL) into it. The lock
 * lives as long as the descriptor.
 * -EBUSY: somebody else has it, *err says who.
 */
int store_lock_take(int root, const char *path, const char *mountpoint, int *out_fd,
		    struct errmsg *err);

/*
 * Who holds @path's lock: *out_pid 0 when nobody does. mountpoint: at least 4097 bytes, "" if
 * unknown.
 */
int store_holder(const char *path, int *out_pid, char *mountpoint);

#endif
