/* SPDX-License-Identifier: MIT */
/* struct core, for the files of this layer only. */
#ifndef FENCE_CORE_CORE_IMPL_H
#define FENCE_CORE_CORE_IMPL_H

#include "base/lock.h"
#include "core/loop/committer.h"
#include "core/core.h"
#include "core/events/events_impl.h"
#include "core/upkeep/gc_service.h"
#include "core/upkeep/generation_job.h"
#include "core/lease/lease_table.h"
#include "core/meter/metrics_impl.h"
#include "core/loop/notifier.h"
#include "core/loop/owed.h"
#include "core/loop/pins.h"
#include "core/loop/pool.h"
#include "core/loop/pulse_impl.h"
#include "core/session/session_table.h"
#include "core/view/snapshot_impl.h"
#include "core/upkeep/space.h"
#include "core/trust/verify.h"
#include "core/view/view_impl.h"

#include <stdatomic.h>

struct core {
	struct store *store; /* owned */
	struct core_options opt;
	struct kernel_hooks hooks;
	struct view live;
	/* The revision that every view reads at. Written by the notifier only; see notifier.c. */
	_Atomic int64_t live_rev;
	/*
	 * Non-zero while a commit becomes visible: replies are not to be cached. Written by the
	 * notifier only.
	 */
	atomic_int window;
	/*
	 * Counts commits that moved or removed a directory: cached directory paths of another count
	 * are void.
	 */
	atomic_uint_fast64_t dir_moves;
	atomic_uint_fast64_t next_view;
	struct lock busy_lock; /* guards busy, closing, ending, closer */
	pthread_cond_t busy_none;
	int busy; /* commits, claims and the like that were accepted and not yet answered */
	bool closing;
	bool ending;	  /* sessions are being ended, which `closer` may still begin */
	pthread_t closer; /* while ending */
	_Atomic(const char *) features;
	struct committer committer;
	struct notifier notifier;
	struct pool pool;
	struct pins pins;
	struct pins regained; /* content that was marked and is good again: see trust.h */
	struct verifier verifier;
	struct gc_service gc;
	struct metrics metrics;
	struct space space;
	struct generation_clock generation; /* the housekeeper's */
	struct pulse_clock pulse;
	struct owed owed;
	struct session_table sessions;
	struct lease_table leases;
	struct event_hub events;
	atomic_bool has_damage; /* some content is marked: see trust.h */
	struct snapshot_list snapshots;
	struct versions *versions; /* owned */
	pthread_t housekeeper;
	bool housekeeper_runs;
	struct lock housekeeper_lock; /* guards housekeeper_stop, with its condition */
	pthread_cond_t housekeeper_wake;
	bool housekeeper_stop;
};

/*
 * A read-only connection and the revision to read at. The revision is loaded first, so the
 * connection's snapshot has it whole.
 */
int core_read_begin(struct core *c, struct db **out_db, int64_t *out_rev);
void core_read_end(struct core *c, struct db *db);

/* Around each accepted request that writes. -ESHUTDOWN: no more are accepted. */
int core_busy_begin(struct core *c);
void core_busy_end(struct core *c);
bool core_is_closing(struct core *c);

#endif
