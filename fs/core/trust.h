/* SPDX-License-Identifier: MIT */
/*
 * Content that is known to be damaged, or seen to be, is not handed out: EIO, not wrong bytes. Known is what fence fsck --data has
 * marked; seen is, at every open, content that lies in the database. What the kernel has cached of a file is not taken back.
 */
#ifndef FENCE_CORE_TRUST_H
#define FENCE_CORE_TRUST_H

struct blob_id;
struct blob_info;
struct core;
struct db;

/* Whether there are marks; when core starts. */
int trust_init(struct core *c);
/* 0, or -EIO, which is logged. @info->data is compared with its hash if it is there. */
int trust_blob(struct core *c, struct db *db, const struct blob_info *info);

#endif
