/* SPDX-License-Identifier: MIT */
/* The past, in the control tree. Layer: fuse. */
#ifndef FENCE_FUSE_CONTROL_CONTROL_PAST_H
#define FENCE_FUSE_CONTROL_CONTROL_PAST_H

#include "fuse/control/control.h"

int at_lookup(struct fs *fs, const char *name, struct fuse_entry_param *out);
int at_next(struct fs *fs, struct control_listing *l, int64_t off, struct named_node *out,
	    int64_t *out_next);
int versions_entry(struct fs *fs, struct fuse_entry_param *out);

#endif
