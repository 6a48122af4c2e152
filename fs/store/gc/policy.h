/* SPDX-License-Identifier: MIT */
/*
 * The store's own rules, kept in table setting: what gc keeps, and how large the content may grow
 * (blob/quota.h). Layer: store, room gc.
 */
#ifndef FENCE_STORE_GC_POLICY_H
#define FENCE_STORE_GC_POLICY_H

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

#endif
