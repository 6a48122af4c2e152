/* SPDX-License-Identifier: MIT */
/*
 * See effects.h. Layer: core.
 *
 * Everything here is derived from the rows that the transaction changed, never from the requests
 * that it was made of: so nobody can forget to tell of a change, and a transaction that was made
 * elsewhere has the same effects. What a later transaction is judged by is not here: that is in the
 * database, or was put into memory by the committer (job_ops.durable).
 *
 * How a durable commit becomes visible, whole (P3): the kernel caches names and attributes without
 * limit, in every view. Were names dropped one by one after live.rev moved, a reader could open one
 * file of a commit in its new version and then, from the cache, another in its old one. So:
 *   1. window = 1: from now on no reply may be cached.
 *   2. The kernel drops every changed name. Each drop takes the parent directory's lock, so it
 *      waits for lookups that run there and whose replies may still say "cacheable". Now no changed
 *      name is cached anywhere; each use asks us, and we answer the old revision.
 *   3. live.rev moves: one store, and every lookup from here on is answered with all of the commit.
 *   4. Attributes of the changed directories are dropped (their mtime moved); window = 0.
 *   5. The requests are answered: every later open sees it.
 * Revisions are published in their order because there is one notifier and its queue is first in,
 * first out.
 *
 * Between a claim's transaction and its effects here a session that it overtakes may still stage
 * files and a lease that it ends may still be renewed. Neither matters: the claim is not answered
 * yet, and the commit of such a session is judged by the row (P1).
 */
#include "core/effects.h"

#include "core/events/events_impl.h"
#include "core/lease/lease_table.h"
#include "core/service/core_impl.h"
#include "core/session/session_table.h"
#include "store/sqlite/changed.h"

#include <stdbool.h>

struct summary {
	int64_t revision; /* the newest; 0: none was made */
	bool paths, leases, events;
};

static struct summary summarize(const struct changed *rows)
{
	struct summary s = { .revision = 0 };

	for (size_t i = 0; i < changed_count(rows); i++) {
		struct changed_row r = changed_at(rows, i);

		switch (r.kind) {
		case CHANGED_REVISION:
			s.revision = r.number;
			break;
		case CHANGED_PATHS:
			s.paths = true;
			break;
		case CHANGED_FENCE:
		case CHANGED_LEASE:
			s.leases = true;
			break;
		case CHANGED_EVENT:
			s.events = true;
			break;
		case CHANGED_NAME:
		case CHANGED_DIR:
			break;
		}
	}
	return s;
}

static void drop_names(struct core *c, const struct changed *rows)
{
	for (size_t i = 0; i < changed_count(rows); i++) {
		struct changed_row r = changed_at(rows, i);

		if (r.kind == CHANGED_NAME)
			c->hooks.drop_name(c->hooks.arg, r.number, r.text);
	}
}

static void drop_dirs(struct core *c, const struct changed *rows)
{
	int64_t last = 0;

	for (size_t i = 0; i < changed_count(rows); i++) {
		struct changed_row r = changed_at(rows, i);

		if (r.kind != CHANGED_NAME && r.kind != CHANGED_DIR)
			continue;
		if (r.number != last) /* names of one directory follow one another */
			c->hooks.drop_dir(c->hooks.arg, r.number);
		last = r.number;
	}
}

static void make_visible(struct core *c, const struct changed *rows, const struct summary *s)
{
	atomic_store(&c->live.window, 1);
	drop_names(c, rows);
	if (s->paths)
		atomic_fetch_add(&c->live.dir_moves, 1);
	atomic_store(&c->live.rev, s->revision);
	drop_dirs(c, rows);
	atomic_store(&c->live.window, 0);
}

static void overtake(struct core *c, const struct changed *rows)
{
	for (size_t i = 0; i < changed_count(rows); i++) {
		struct changed_row r = changed_at(rows, i);
		struct claimed by = {
			.path = r.text, .owner = r.owner, .token = r.number, .at = r.at
		};

		if (r.kind != CHANGED_FENCE)
			continue;
		session_table_claimed(c, &by);
		lease_claimed(c, r.text, r.number, r.owner);
	}
}

void effects_of(void *core, const struct changed *rows)
{
	struct core *c = core;
	struct summary s = summarize(rows);

	if (s.revision > atomic_load(&c->live.rev))
		make_visible(c, rows, &s);
	overtake(c, rows);
	if (s.leases)
		lease_kick(c);
	if (s.events)
		events_kick(c);
}
