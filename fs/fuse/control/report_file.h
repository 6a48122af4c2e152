/* SPDX-License-Identifier: MIT */
/*
 * .fence/metrics and .fence/status: files whose text is made when they are opened, so that one
 * reader sees one state, wherever and in whatever pieces it reads. Like those of /proc they have no
 * size.
 */
#ifndef FENCE_FUSE_CONTROL_REPORT_FILE_H
#define FENCE_FUSE_CONTROL_REPORT_FILE_H

#include "fuse/ops/inode.h"

#include <stdbool.h>

#include <fuse_lowlevel.h>

/* The id of an INODE_REPORT. */
enum report { REPORT_METRICS, REPORT_STATUS, REPORTS };

extern const char *const report_names[REPORTS];

bool report_file_is(const struct fuse_file_info *fi);
/* Handlers: they reply. */
void report_file_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi);
void report_file_read(fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi);

#endif
