/* SPDX-License-Identifier: MIT */
/* Who opens a file: what may be done through it is decided by that alone. Layer: fuse. */
#ifndef FENCE_FUSE_CONTROL_OPENER_H
#define FENCE_FUSE_CONTROL_OPENER_H

#include <fuse_lowlevel.h>

struct caller;

void opener_of(fuse_req_t req, struct caller *out);

#endif
