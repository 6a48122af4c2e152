/* SPDX-License-Identifier: MIT */
/* The service manager's watchdog hears of us only while requests to this mount are answered. */
#ifndef FENCE_FUSE_WATCHDOG_H
#define FENCE_FUSE_WATCHDOG_H

struct fs;

/* When the mount answers; does nothing if nobody watches. */
void watchdog_start(struct fs *fs);

#endif
