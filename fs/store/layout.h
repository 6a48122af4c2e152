/* SPDX-License-Identifier: MIT */
/* The store directory: its names, its format line, where it may lie. For the store_*.c files. */
#ifndef FENCE_STORE_LAYOUT_H
#define FENCE_STORE_LAYOUT_H

#include "base/errmsg.h"
#include "base/uuid.h"

#include <linux/limits.h>
#include <stdint.h>

#define LAYOUT_FORMAT	  "format"
#define LAYOUT_FORMAT_NEW "format.new"
#define LAYOUT_LOCK	  "lock"
#define LAYOUT_DB	  "meta.db"
#define LAYOUT_BLOBS	  "blobs"
#define LAYOUT_STAGING	  "staging"
#define LAYOUT_LOST_FOUND "lost+found" /* what a repair has set aside */

struct store_format {
	int64_t version; /* from 1 */
	struct uuid uuid;
};

/*
 * -EOPNOTSUPP: @fd lies on a network or cluster file system, where SQLite's WAL and this layer's
 * locks do not hold.
 */
int layout_check_fs(int fd, const char *path, struct errmsg *err);
/*
 * Reads STORE/format; a version above @newest is refused. -EMEDIUMTYPE: it is none.
 * -EPROTONOSUPPORT: what layout_check_version() says.
 */
int layout_read_format(int root, const char *path, int64_t newest, struct store_format *out,
		       struct errmsg *err);
/* -EPROTONOSUPPORT: a store of @format needs a program that knows more than @newest. */
int layout_check_version(const char *path, int64_t format, int64_t newest, struct errmsg *err);
/* Durable when 0, and never half. @flags: of renameat2(). */
int layout_write_format(int root, const char *uuid, int64_t version, unsigned int flags);
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
