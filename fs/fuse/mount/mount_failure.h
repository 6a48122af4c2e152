/* SPDX-License-Identifier: MIT */
/*
 * Why it could not be mounted, as far as that can be found out, and what to do about it.
 * Layer: fuse.
 */
#ifndef FENCE_FUSE_MOUNT_MOUNT_FAILURE_H
#define FENCE_FUSE_MOUNT_MOUNT_FAILURE_H

#include "base/errmsg.h"

struct options;

/* Always an error: libfuse has said what failed, but not why. */
int mount_failure(const struct options *o, const char *mountpoint, struct errmsg *err);

#endif
