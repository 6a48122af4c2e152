/* SPDX-License-Identifier: MIT */
/*
 * Revisions: each commit that changed something, or that has an op to be remembered by, made one.
 * Readers may use any connection. Layer: store, room tree.
 */
#ifndef FENCE_STORE_TREE_REVISION_H
#define FENCE_STORE_TREE_REVISION_H

#include "base/path.h"
#include "store/fence/owner.h"

#include <stdbool.h>
#include <stdint.h>

struct db;

/* The newest revision in this connection's snapshot; 0 in a new store. */
int revision_current(struct db *db, int64_t *out);

struct revision {
	int64_t revision, at, token, changed;
	char path[FENCE_PATH_MAX + 1];
	char owner[OWNER_MAX + 1];
	char op[OWNER_MAX + 1];
	char session[33];
};
int revision_get(struct db *db, int64_t revision, struct revision *out);
/*
 * The newest revision up to @newest that was made at or before @at (wall clock, ns). -ENOENT: there
 * was no store then.
 */
int revision_at_time(struct db *db, int64_t at, int64_t newest, int64_t *out);
/* The commit with op key @op whose claimed path was @path. -ENOENT. */
int revision_by_op(struct db *db, const char *path, const char *op, struct revision *out);

/* Writing them, for change_commit() and fsck only; inside a transaction. */
/* @once: it was committed with once=1, and answers for its path and token from now on. */
int revision_add(struct db *db, const struct revision *r, bool once);
/* The commit with once=1 of @token on claimed path @path. -ENOENT. */
int revision_once(struct db *db, const char *path, int64_t token, struct revision *out);

#endif
