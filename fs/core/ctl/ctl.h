/* SPDX-License-Identifier: MIT */
/*
 * One conversation on .fence/ctl: lines in, replies out (fence-ctl(5)). Completions are called
 * exactly once, possibly before the call returns, from any thread, with no lock held.
 */
#ifndef FENCE_CORE_CTL_CTL_H
#define FENCE_CORE_CTL_CTL_H

#include "core/access/caller.h"

#include <stddef.h>

struct core;
struct ctl;

int ctl_open(struct core *c, const struct caller *who, struct ctl **out);

/*
 * Bytes from write(2). @done(@arg, err): all complete lines in it were executed; err is 0 or the
 * -errno of the first refused one. @buf is copied.
 */
typedef void (*ctl_write_fn)(void *arg, int err);
void ctl_write(struct ctl *ctl, const void *buf, size_t len, ctl_write_fn done, void *arg);

/* read(2) of up to @max bytes. @data is valid during the call. 0 bytes: nothing outstanding. */
typedef void (*ctl_read_fn)(void *arg, int err, const void *data, size_t len);
void ctl_read(struct ctl *ctl, size_t max, ctl_read_fn done, void *arg);

/*
 * The caller of the parked write or read with this @arg is gone or interrupted: completes it with
 * -EINTR if it is still parked. The work goes on.
 */
void ctl_interrupt(struct ctl *ctl, void *arg);

/*
 * Final close: an unfinished line is dropped, sessions opened here without keep=1 end. Does not
 * wait.
 */
void ctl_close(struct ctl *ctl);

#endif
