/* SPDX-License-Identifier: MIT */
/*
 * Leases as the database keeps them: on the fence row of their path, under that row's token.
 * Whether one has expired is the daemon's to judge (CLOCK_BOOTTIME); after a restart a lease gets
 * its full time again. Writers inside a transaction only.
 */
#ifndef FENCE_STORE_FENCE_LEASE_ROW_H
#define FENCE_STORE_FENCE_LEASE_ROW_H

#include "store/fence/fence.h"

struct db;

struct lease_row {
	char path[FENCE_PATH_MAX + 1];
	char owner[OWNER_MAX + 1];
	int64_t token;
	int64_t ttl; /* ns */
};

/*
 * Issue a token for @path: 1 + the maximum of the store's counter and of every fence on, above and
 * beneath @path; it becomes the counter (P7). -ERANGE: there is no higher number left (a runaway
 * token stands there: reset it).
 */
int lease_issue_token(struct db *db, const char *path, int64_t *out);
/*
 * The fence row of @path must exist and hold @token: -ESTALE otherwise. @expires_at: wall clock,
 * for people who look at the database.
 */
int lease_set(struct db *db, const char *path, int64_t token, const char *owner, int64_t ttl,
	      int64_t expires_at);
/* The fence stays. 0 also if there is no such lease any more. */
int lease_clear(struct db *db, const char *path, int64_t token);
typedef int (*lease_fn)(void *arg, const struct lease_row *row);
/* Every lease that the database knows; stops at the first non-zero return of @fn and returns it. */
int lease_each(struct db *db, lease_fn fn, void *arg);

#endif
