/* SPDX-License-Identifier: MIT */
/* XXH3-128 piece by piece, for who reads content at a pace of its own. The whole: blob.h. */
#ifndef FENCE_STORE_BLOB_HASH_H
#define FENCE_STORE_BLOB_HASH_H

#include "store/blob/blob.h"

#include <stddef.h>

struct hash_state;

/* NULL: no memory. */
struct hash_state *hash_begin(void);
void hash_add(struct hash_state *h, const void *buf, size_t len);
void hash_end(struct hash_state *h, struct blob_hash *out);
void hash_free(struct hash_state *h);

static inline void cleanup_hash_state(struct hash_state **h)
{
	hash_free(*h);
}
#define auto_hash_state __attribute__((cleanup(cleanup_hash_state)))

#endif
