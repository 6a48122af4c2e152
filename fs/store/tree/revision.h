/* SPDX-License-Identifier: MIT */
/* Writing revisions; for change_commit() only. */
#ifndef FENCE_STORE_TREE_REVISION_H
#define FENCE_STORE_TREE_REVISION_H

#include "store/tree/record.h"

#include <stdbool.h>

/* @once: it was committed with once=1, and answers for its path and token from now on. */
int revision_add(struct db *db, const struct revision *r, bool once);
/* The commit with once=1 of @token on claimed path @path. -ENOENT. */
int revision_once(struct db *db, const char *path, int64_t token, struct revision *out);

#endif
