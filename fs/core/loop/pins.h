/* SPDX-License-Identifier: MIT */
/*
 * Content that somebody is about to refer to: gc leaves it alone. For this layer only.
 *
 * Two kinds, each counted, so that they may overlap:
 *   - what is being sealed: from before its file is in blobs/ (or its row is written ahead of its
 *     commit) until the job that publishes or refuses it is durable, or it has been removed again;
 *     over a commit that a full disk undid, by the session's node as long as that is `fresh`;
 *   - what a session holds in its tree without having written it (a renamed file, say): its version
 *     may be pruned meanwhile, its content must be there when the session commits.
 *
 * A new pin on old content races with a sweep that has decided already. So who pins such content
 * looks afterwards, in a new snapshot, whether the entry that it knows the content by is still
 * there (pins_hold_entry()). If it is, the transaction that prunes it has not been committed, and
 * every sweep that could take its content decides after that one, and sees the pin.
 */
#ifndef FENCE_CORE_LOOP_PINS_H
#define FENCE_CORE_LOOP_PINS_H

#include "base/lock.h"
#include "store/blob/blob_set.h"

struct core;
struct db;

struct pins {
	struct lock lock; /* guards: */
	struct blob_set set;
};

void pins_init(struct pins *p);
void pins_fini(struct pins *p);
/* -ENOMEM. */
int pins_add(struct pins *p, const struct blob_id *id);
void pins_drop(struct pins *p, const struct blob_id *id);
bool pins_has(struct pins *p, const struct blob_id *id);
/* Pin the content @id of entry @row. -ESTALE: the entry is pruned, nothing is pinned. */
int pins_hold_entry(struct pins *p, struct db *db, int64_t row, const struct blob_id *id);

#endif
