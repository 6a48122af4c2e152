/* SPDX-License-Identifier: MIT */
/* .fence/events: a stream of lines (core/events/events.h). Layer: fuse. */
#ifndef FENCE_FUSE_CONTROL_EVENTS_FILE_H
#define FENCE_FUSE_CONTROL_EVENTS_FILE_H

#include "fuse/ops/inode.h"

#include <stdbool.h>

#include <fuse_lowlevel.h>

bool events_file_is(const struct fuse_file_info *fi);
void events_file_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi);
void events_file_read(fuse_req_t req, size_t size, struct fuse_file_info *fi);
void events_file_write(fuse_req_t req, struct fuse_bufvec *in, struct fuse_file_info *fi);
/* @ph is consumed. */
void events_file_poll(fuse_req_t req, struct fuse_file_info *fi, struct fuse_pollhandle *ph);

#endif
