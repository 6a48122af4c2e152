/* SPDX-License-Identifier: MIT */
/*
 * Repair: what is wrong is moved aside and written down, never deleted. On a store that nobody
 * serves (STORE_OWN).
 *
 * Where things go:
 *   STORE/lost+found/ID          the file of a damaged blob; reads of it give EIO from then on
 *   STORE/lost+found/repair-N    what was done, and each row that was changed, as SQL that would
 *                                put it back; N is the time
 *   lost+found/ in the tree      versions that collided with others, directories that could not be
 *                                reached, made visible by one new revision
 *
 * Order: the record is durable first, then files move, then one transaction changes the tables. Cut
 * off at any moment, a second run finds what is left to do.
 */
#ifndef FENCE_STORE_FSCK_FSCK_REPAIR_H
#define FENCE_STORE_FSCK_FSCK_REPAIR_H

#include "base/errmsg.h"
#include "store/fsck/fsck.h"

#define FSCK_PLAN_MAX 100000

struct fsck_plan;

struct fsck_plan *fsck_plan_new(void);
void fsck_plan_free(struct fsck_plan *p);
/* Remember what is to be done about @x. Beyond FSCK_PLAN_MAX nothing is: run the repair again. */
int fsck_plan_add(struct fsck_plan *p, const struct fsck_finding *x);
size_t fsck_plan_size(const struct fsck_plan *p);
/* Whether SQLite found the database damaged: then nothing may be written to it. */
bool fsck_plan_is_hopeless(const struct fsck_plan *p);

/* Do all of it. *err says what went wrong. */
int fsck_repair(struct store *s, const struct fsck_plan *p, struct errmsg *err);

#endif
