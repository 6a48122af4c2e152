/* SPDX-License-Identifier: MIT */
/* .fence/ctl as an open file: one conversation per open. */
#ifndef FENCE_FUSE_CONTROL_CTL_FILE_H
#define FENCE_FUSE_CONTROL_CTL_FILE_H

#include "fuse/ops/inode.h"

#include <fuse_lowlevel.h>

/* Handlers: they reply. */
void ctl_file_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi);
void ctl_file_read(fuse_req_t req, size_t size, struct fuse_file_info *fi);
void ctl_file_write(fuse_req_t req, struct fuse_bufvec *in, struct fuse_file_info *fi);

struct caller;
struct handle;

/* Of other streams too: who opens the file, and the reply to its OPEN. */
void ctl_file_caller(fuse_req_t req, struct caller *out);
int ctl_file_reply_stream(fuse_req_t req, struct handle *h, struct fuse_file_info *fi);

#endif
