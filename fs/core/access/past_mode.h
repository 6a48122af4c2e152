/* SPDX-License-Identifier: MIT */
/* Who may read what was (P8). */
#ifndef FENCE_CORE_ACCESS_PAST_MODE_H
#define FENCE_CORE_ACCESS_PAST_MODE_H

#include "store/tree/entry.h"

struct db;

/*
 * Mode, owner and group of @e as they hold now, into those of *out: nobody gets more than the
 * version itself allowed, and nobody more than what stood at its place last, as of @now, allows.
 */
int past_mode(struct db *db, int64_t now, const struct entry *e, struct entry *out);

#endif
