/* SPDX-License-Identifier: MIT */
/*
 * A limit to the content of a store. A store with a limit keeps a running total of its content, exact, since it changes in
 * the transaction that adds or removes the blob; one without pays nothing for it (setting a limit
 * adds up once). Writers inside a transaction only. Layer: store,
 * room blob.
 */
#ifndef FENCE_STORE_BLOB_QUOTA_H
#define FENCE_STORE_BLOB_QUOTA_H

#include <stdint.h>

struct db;

/* @limit 0: there is none. */
int quota_set(struct db *db, int64_t limit);
int quota_add(struct db *db, int64_t bytes);
/* -ENOSPC: the total, with what this transaction has added, is above the limit. */
int quota_check(struct db *db);
/* The limit and that total, both 0 where there is no limit. From any connection. */
int quota_get(struct db *db, int64_t *out_limit, int64_t *out_used);

#endif
