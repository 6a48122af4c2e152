/* SPDX-License-Identifier: MIT */
/*
 * A request that changes a file's content and may have to wait for it to be copied first. The
 * completion of the copy never brings what was asked for: the file has another inode by then, so
 * the answer is ESTALE, and the kernel looks the path up again (object_file.c). Layer: fuse.
 */
#ifndef FENCE_FUSE_OBJECT_COPY_WAIT_H
#define FENCE_FUSE_OBJECT_COPY_WAIT_H

#include "fuse/state/inode.h"

#include <fuse_lowlevel.h>

struct copy_wait;

/* To be handed to core with copy_wait_done(), then to copy_wait_begun(). NULL: no memory. */
struct copy_wait *copy_wait_new(fuse_req_t req, struct inode *inode);
/* A content_done_fn; @arg is the copy_wait. */
void copy_wait_done(void *arg, int err);
/*
 * Core has answered @err, which is returned. 1: the request is parked, and answered when the copy
 * is done or its caller interrupted. Anything else: the caller answers it.
 */
int copy_wait_begun(struct copy_wait *w, int err);

#endif
