/* SPDX-License-Identifier: MIT */
/* Who uses a mount that cannot be unmounted. Layer: tools. */
#ifndef FENCE_TOOLS_CLIENT_MOUNT_USERS_H
#define FENCE_TOOLS_CLIENT_MOUNT_USERS_H

#include "parse/buf.h"

#include <sys/types.h>

/*
 * Who keeps the file system on @dev busy, as far as /proc tells this user: "bash (pid 12, working
 * directory), tail (pid 77, open file)". At most a few; the number found.
 */
int mount_users(dev_t dev, struct buf *out);

#endif
