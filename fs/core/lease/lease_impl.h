/* SPDX-License-Identifier: MIT */
/* Inside the lease files. */
#ifndef FENCE_CORE_LEASE_LEASE_IMPL_H
#define FENCE_CORE_LEASE_LEASE_IMPL_H

#include "core/access/caller.h"
#include "core/loop/committer.h"
#include "core/service/core_impl.h"
#include "core/lease/lease_table.h"
#include "store/fence/refusal.h"
#include "store/tree/event.h"

#include <bsd/sys/tree.h>

struct lease {
	RB_ENTRY(lease) by_path;
	char *path, *owner; /* owned */
	int64_t token, ttl;
	int64_t expires;       /* CLOCK_BOOTTIME, ns */
	uint32_t uid;	       /* UINT32_MAX: not known (granted before the daemon started) */
	const struct ctl *ctl; /* the conversation it ends with, never dereferenced; NULL: keep=1 */
};
RB_HEAD(lease_tree, lease);

struct waiter;

struct lease_table {
	struct lock lock; /* guards all below */
	struct lease_tree live;
	struct waiter *first, **last; /* in the order of coming */
	unsigned int n_live, n_waiting;
};

/* One acquire on its way. In the queue until it is granted or given up. */
struct waiter {
	struct job job; /* first; its grant */
	struct core *c;
	struct waiter *next;
	char *path, *owner;    /* owned */
	int64_t ttl, deadline; /* deadline: CLOCK_BOOTTIME ns; 0: does not wait */
	struct caller who;
	struct refusal refusal; /* err set: permission is gone */
	const struct ctl *ctl;
	bool keep;
	bool is_queued; /* on the list, whose lock guards it */
	bool granting;	/* its grant is in the committer: it stands against others already */
	bool canceled;	/* meanwhile nobody wants it any more */
	int64_t token;	/* granted */
	acquire_done_fn done;
	void *arg;
};

/* All with the table's lock held. */
struct lease *lease_find_locked(struct lease_table *t, const char *path);
/*
 * A live lease that stands against one on @path, or NULL. Expired ones are not looked at:
 * lease_collect_expired_locked() first.
 */
struct lease *lease_conflict_locked(struct lease_table *t, const char *path);
/* In the order of paths; NULL at the end. */
struct lease *lease_first_locked(struct lease_table *t);
struct lease *lease_after_locked(struct lease_table *t, struct lease *l);
int lease_insert_locked(struct lease_table *t, struct lease *l);
void lease_remove_locked(struct lease_table *t, struct lease *l);
/* A lease that is no longer in the table, to be written down. */
struct ended {
	struct ended *next;
	struct lease *lease; /* owned */
	enum event_kind why;
	uint32_t by_uid;
	int64_t highest;
	char other[OWNER_MAX + 1];
};
int lease_end_locked(struct lease_table *t, struct lease *l, enum event_kind why,
		     struct ended **list);
void lease_collect_expired_locked(struct lease_table *t, struct ended **list);
bool path_stands_against(const char *a, const char *b);
void lease_info_of(const struct lease *l, struct lease_info *out);
void lease_free(struct lease *l);

/*
 * The lock is held since they left the table, so that the end of a lease stands in the record
 * before the grant of the next. Consumes @list (may be NULL); @done (may be NULL) is called after
 * the last is durable, by the committer. -errno: they will not be written down, and @done will not
 * be called.
 */
int lease_write_ends_locked(struct core *c, struct ended *list, lease_done_fn done, void *arg);

#endif
