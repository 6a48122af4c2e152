/* SPDX-License-Identifier: MIT */
/* How long handlers take: a clock around each. Layer: fuse. */
#ifndef FENCE_FUSE_OPS_OP_TIME_H
#define FENCE_FUSE_OPS_OP_TIME_H

#include <fuse_lowlevel.h>

/* In place of the handlers of fs_ops that @ops has. */
void op_time_install(struct fuse_lowlevel_ops *ops);

#endif
