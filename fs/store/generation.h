/* SPDX-License-Identifier: MIT */
/*
 * Has somebody put back an older database? A number, in table setting and as the content of
 * blobs/UUID, goes up in both each time a daemon begins or ends to serve the store, now and then
 * while it does (if there were commits), and each time gc runs: durable in the database first. So
 * where the file's is the higher one, the database is not the one that was last used with these
 * blobs: a copy of it was restored. What looks unreferenced then may be what the lost transactions
 * had published, and tokens may have been issued that the database knows nothing of.
 */
#ifndef FENCE_STORE_GENERATION_H
#define FENCE_STORE_GENERATION_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stdint.h>

#define GENERATION_TOKEN_JUMP (INT64_C(1) << 32)

struct db;
struct store;

/*
 * *out: the database is older than blobs/, or was when it was last served and gc has not been told
 * since.
 */
int generation_is_restored(struct store *s, struct db *db, bool *out);
/*
 * Up by one, beyond both; within a transaction of the writer. *out: the new one, to be written with
 * generation_write_file() when that is durable. If the database turns out to be older: the token
 * counter jumps by 2^32, so that no token is issued twice (P7), and gc is told.
 */
int generation_advance(struct store *s, struct db *db, int64_t *out, bool *out_restored);
/* Within a transaction of the writer: gc --after-restore. */
int generation_accept(struct db *db);
int generation_write_file(struct store *s, int64_t generation);
/* All of it, for a daemon that starts, and for one that ends. */
int generation_begin(struct store *s, struct errmsg *err);
void generation_end(struct store *s);

#endif
