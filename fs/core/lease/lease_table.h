/* SPDX-License-Identifier: MIT */
/*
 * Leases that are alive, and who waits for one. For this layer only.
 *
 * The table is what decides: a lease is in it from the moment its grant is durable until it is
 * released, expires (CLOCK_BOOTTIME), or is overtaken by a claim of a higher token. A live lease on
 * p stands against leases on p, on its ancestors and on what is beneath it. Waiters are served in
 * the order in which they came: one is granted when neither a live lease nor an earlier waiter
 * stands against it.
 */
#ifndef FENCE_CORE_LEASE_LEASE_TABLE_H
#define FENCE_CORE_LEASE_LEASE_TABLE_H

#include "store/fence/lease_row.h"

#include <stdbool.h>

struct caller;
struct core;
struct ctl;

/* A copy of a lease, for replies. */
struct lease_info {
	char path[FENCE_PATH_MAX + 1];
	char owner[OWNER_MAX + 1];
	int64_t token, ttl, remaining; /* ns */
	uint32_t uid;
	bool keep;
	unsigned int waiters; /* that it stands against */
};

int lease_table_init(struct core *c);
void lease_table_fini(struct core *c);
void lease_counts(struct core *c, unsigned int *out_live, unsigned int *out_waiting);

struct acquire_args {
	const char *path, *owner; /* copied */
	int64_t ttl, wait;	  /* ns; wait 0: no waiting */
	const struct caller *who; /* copied; must be allowed to write there when it is granted */
	const struct ctl *ctl;	  /* the asking conversation */
	bool keep;
};
/*
 * @err 0: *lease is granted, durably. -EBUSY, -ETIMEDOUT: *lease is the one that stood against it
 * (path "" if it was a waiter). -ECANCELED: the conversation ended. Otherwise a database error;
 * -ERANGE: no token is left; -EACCES: no permission any more. Called once, no lock held, possibly before lease_acquire returns.
 */
typedef void (*acquire_done_fn)(void *arg, int err, const struct lease_info *lease);
void lease_acquire(struct core *c, const struct acquire_args *a, acquire_done_fn done, void *arg);
/* What the conversation holds on exactly this path: true and *out. */
bool lease_held_by(struct core *c, const struct ctl *ctl, const char *path, struct lease_info *out);

/*
 * 0 and *out; -ETIME expired or not there, -EPERM another owner. A changed @ttl (0: as before) is
 * written down first.
 */
typedef void (*lease_done_fn)(void *arg, int err, const struct lease_info *lease);
void lease_renew(struct core *c, const char *path, int64_t token, const char *owner, int64_t ttl,
		 lease_done_fn done, void *arg);
/* @force: whoever holds it. */
void lease_release(struct core *c, const char *path, int64_t token, const char *owner, bool force,
		   uint32_t uid, lease_done_fn done, void *arg);
/* The conversation is over: its leases end, its waiters go. */
void lease_conversation_ended(struct core *c, const struct ctl *ctl);
/* The service ends: nobody waits any longer. */
void lease_cancel_all(struct core *c);
/* No lock held: grants what can be granted, answers what does not wait. */
void lease_kick(struct core *c);
/*
 * A claim of @token on @path is durable: leases on it and beneath it under lower tokens are lost;
 * lease_kick() is the caller's. Notifier's thread.
 */
void lease_claimed(struct core *c, const char *path, int64_t token, const char *owner);

/* The live lease on @path or on the nearest directory above: true and *out. */
bool lease_covering(struct core *c, const char *path, struct lease_info *out);
/* The first lease with a path after @after ("" from the start): true and *out. */
bool lease_next(struct core *c, const char *after, struct lease_info *out);

/*
 * Expire and time out what is due; returns when to come again (CLOCK_BOOTTIME ns, INT64_MAX never).
 * Housekeeper.
 */
int64_t lease_tick(struct core *c);

#endif
