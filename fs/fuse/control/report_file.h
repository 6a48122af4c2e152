/* SPDX-License-Identifier: MIT */
/*
 * A file whose text is made when it is opened, so that one reader sees one state, wherever and in
 * whatever pieces it reads. Like those of /proc they have no size. Layer: fuse.
 */
#ifndef FENCE_FUSE_CONTROL_REPORT_FILE_H
#define FENCE_FUSE_CONTROL_REPORT_FILE_H

#include "fuse/state/inode.h"

#include <stddef.h>

#include <fuse_lowlevel.h>

#define REPORT_MODE 0444

/* The text for who opens it by @req; *out_text malloc'd. */
typedef int (*report_make_fn)(fuse_req_t req, char **out_text, size_t *out_len);

/* For the `open` of struct inode_type. */
int report_file_open(fuse_req_t req, struct inode *inode, struct fuse_file_info *fi,
		     report_make_fn make);

#endif
