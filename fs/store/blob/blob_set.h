/* SPDX-License-Identifier: MIT */
/*
 * A set of blob ids that counts how often each was put in: 24 bytes a slot, no allocation per id.
 * No locking of its own.
 */
#ifndef FENCE_STORE_BLOB_BLOB_SET_H
#define FENCE_STORE_BLOB_BLOB_SET_H

#include "store/blob/blob.h"

#include <stdbool.h>
#include <stddef.h>

struct blob_slot;

/* Zeroed: empty. */
struct blob_set {
	struct blob_slot *slot; /* owned; a power of two of them */
	size_t room, n;
};

void blob_set_fini(struct blob_set *set);
/* Once more. -ENOMEM: it is not in it. */
int blob_set_add(struct blob_set *set, const struct blob_id *id);
/* Once less; nothing if it is not there. */
void blob_set_drop(struct blob_set *set, const struct blob_id *id);
bool blob_set_has(const struct blob_set *set, const struct blob_id *id);

#endif
