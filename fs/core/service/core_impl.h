/* SPDX-License-Identifier: MIT */
/*
 * struct core: what every room above this one can reach. Layer: core, room service.
 *
 * The queues and threads of loop/ and the counters of meter/ lie here by value, since they know
 * nothing of what runs in them. What belongs to a room above is a pointer to that room's own
 * object, which only that room can look into.
 */
#ifndef FENCE_CORE_SERVICE_CORE_IMPL_H
#define FENCE_CORE_SERVICE_CORE_IMPL_H

#include "core/loop/busy.h"
#include "core/loop/committer.h"
#include "core/loop/live.h"
#include "core/loop/notifier.h"
#include "core/loop/owed.h"
#include "core/loop/pins.h"
#include "core/loop/pool.h"
#include "core/loop/pulse.h"
#include "core/meter/metrics_impl.h"
#include "core/service/kernel_hooks.h"

#include <stdatomic.h>

struct db;
struct store;

struct core {
	struct store *store; /* owned */
	struct core_options opt;
	struct kernel_hooks hooks;
	_Atomic(const char *) features;
	struct live live;
	atomic_uint_fast64_t next_view;
	struct busy busy;
	struct committer committer;
	struct notifier notifier;
	struct pool pool;
	struct pins pins;
	struct pins regained; /* content that was marked and is good again: see trust.h */
	struct pulse pulse;
	struct owed owed;
	struct metrics metrics;
	atomic_bool has_damage; /* some content is marked: see trust.h */

	/* Owned, each by its room. */
	struct view *live_view;
	struct snapshot_list *snapshots;
	struct versions *versions;
	struct session_table *sessions;
	struct lease_table *leases;
	struct event_hub *events;
	struct verifier *verifier;
	struct gc_service *gc;
	struct space *space;
	struct housekeeper *housekeeper;
};

/*
 * A read-only connection and the revision to read at. The revision is loaded first, so the
 * connection's snapshot has it whole.
 */
int core_read_begin(struct core *c, struct db **out_db, int64_t *out_rev);
void core_read_end(struct core *c, struct db *db);

#endif
