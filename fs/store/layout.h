/* SPDX-License-Identifier: MIT */
/* The store directory: its names, its format line, where it may lie. For the store_*.c files. */
#ifndef FENCE_STORE_LAYOUT_H
#define FENCE_STORE_LAYOUT_H

#include "base/errmsg.h"
#include "base/uuid.h"

#include <linux/limits.h>

#define LAYOUT_FORMAT	  "format"
#define LAYOUT_FORMAT_NEW "format.new"
#define LAYOUT_LOCK	  "lock"
#define LAYOUT_DB	  "meta.db"
#define LAYOUT_BLOBS	  "blobs"
#define LAYOUT_STAGING	  "staging"
#define LAYOUT_LOST_FOUND "lost+found" /* what a repair has set aside */
#define LAYOUT_VERSION	  1

/*
 * -EOPNOTSUPP: @fd lies on a network or cluster file system, where SQLite's WAL and this layer's
 * locks do not hold.
 */
int layout_check_fs(int fd, const char *path, struct errmsg *err);
/* Reads and checks STORE/format. -EMEDIUMTYPE, -EPROTONOSUPPORT. */
int layout_read_format(int root, const char *path, struct uuid *out, struct errmsg *err);
/*
 * 1: everything in @root is what an interrupted store_create() leaves behind.  0: there is
 * something else, or nothing.
 */
int layout_is_unfinished(int root);
/* 1: nothing in it. */
int layout_is_empty(int root);
/*
 * The absolute path of the database in the open directory @root, for SQLite, which takes no
 * descriptors. -ENAMETOOLONG: longer than SQLite's limit of 512.
 */
int layout_db_path(int root, const char *path, char out[PATH_MAX], struct errmsg *err);

#endif
