/* SPDX-License-Identifier: MIT */
/*
 * Content that is known to be damaged: reading it gives EIO, not wrong bytes. A mark is a row of
 * `setting`, "damaged/ID" with the time it was set; content that a repair has moved out of blobs/
 * has a second one, "aside/ID". Writers inside a transaction only.
 */
#ifndef FENCE_STORE_BLOB_DAMAGED_H
#define FENCE_STORE_BLOB_DAMAGED_H

#include "store/blob/blob.h"

struct db;

int damaged_mark(struct db *db, const struct blob_id *id, int64_t now_ns);
/* The content was found good again: both marks go. */
int damaged_unmark(struct db *db, const struct blob_id *id);
int damaged_set_aside(struct db *db, const struct blob_id *id, int64_t now_ns);
/* 1 or 0, or -errno. */
int damaged_is_marked(struct db *db, const struct blob_id *id);
int damaged_is_aside(struct db *db, const struct blob_id *id);
/* Whether there is any mark. */
int damaged_any(struct db *db);
/* How many are marked and not yet set aside. */
int damaged_count(struct db *db, int64_t *out);
/* The first marked id after @after (NULL: the first of all). -ENOENT. */
int damaged_next(struct db *db, const struct blob_id *after, struct blob_id *out);

#endif
