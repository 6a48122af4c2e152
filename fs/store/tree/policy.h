/* SPDX-License-Identifier: MIT */
/*
 * The store's own rules, kept in table setting: what gc keeps, and how large the content may grow.
 */
#ifndef FENCE_STORE_TREE_POLICY_H
#define FENCE_STORE_TREE_POLICY_H

#include "store/gc/retention.h"

struct db;

struct policy {
	struct retention keep; /* for gc without flags */
	int64_t max_size;      /* bytes of content: current, history and orphans; 0: no limit */
};

/*
 * The name of a rule in table setting, in the control protocol and (with '-') on the command line.
 */
extern const char *const policy_keep_names[RETAIN_KINDS];
#define POLICY_WITHIN	"keep_within"
#define POLICY_MAX_SIZE "max_size"

int policy_get(struct db *db, struct policy *out);
/* Within a transaction of the writer. */
int policy_set(struct db *db, const struct policy *p);

/*
 * The quota. A store with a limit keeps a running total of its content, exact, since it changes in
 * the transaction that adds or removes the blob; one without pays nothing for it (setting a limit
 * adds up once). Within a transaction of the writer.
 */
int quota_add(struct db *db, int64_t bytes);
/* -ENOSPC: the total, with what this transaction has added, is above the limit. */
int quota_check(struct db *db);
/* The limit and that total, both 0 where there is no limit. From any connection. */
int quota_get(struct db *db, int64_t *out_limit, int64_t *out_used);

#endif
