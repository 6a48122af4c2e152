/* SPDX-License-Identifier: MIT */
/* See gauges.h. Core layer. */
#include "core/report/gauges.h"

#include "core/lease/lease_table.h"
#include "core/service/core_impl.h"
#include "core/session/session_table.h"
#include "store/blob/damaged.h"
#include "store/sqlite/db.h"
#include "store/generation.h"
#include "store/blob/quota.h"
#include "store/sqlite/setting.h"
#include "store/store.h"

#include <errno.h>

#define WAL_LARGE \
	(INT64_C(256) << 20) /* 16 times what a checkpoint leaves: a reader is in its way */

/* Of the file system: in hundredths, and at most so much of a large one. */
#define FULL_PERCENT	    1
#define FULL_BYTES	    (UINT64_C(1) << 30)
#define NEARLY_FULL_PERCENT 5
#define NEARLY_FULL_BYTES   (UINT64_C(20) << 30)

const struct problem_kind problem_kinds[PROBLEMS] = {
	[PROBLEM_READ_ONLY] = { "read_only_after_write_error", true,
				"check the kernel log, then mount again" },
	[PROBLEM_DAMAGED] = { "damaged_content", true, "fence fsck --data names it" },
	[PROBLEM_DATABASE] = { "damaged_database", true, "fence fsck names what is on the page" },
	[PROBLEM_DISK_FULL] = { "disk_full", true,
				"free space on the store's file system, or run fence gc" },
	[PROBLEM_DISK_NEARLY_FULL] = { "disk_nearly_full", false,
				       "free space on the store's file system, or run fence gc" },
	[PROBLEM_QUOTA] = { "quota_nearly_reached", false,
			    "run fence gc, or raise the limit: fence policy --max-size" },
	[PROBLEM_RESTORED] = { "store_restored_from_older_copy", false,
			       "fence gc removes nothing until run with --after-restore" },
	[PROBLEM_WAL_LARGE] = { "wal_large", false,
				"find what has been reading the database for so long" },
	[PROBLEM_GC_FAILED] = { "gc_failed", false, "run fence gc; it says why" },
};

static bool is_below(uint64_t free, uint64_t total, uint64_t percent, uint64_t most)
{
	return free < total / 100 * percent && free < most;
}

static bool is_short(const struct statvfs *fs, uint64_t percent, uint64_t bytes)
{
	/* File systems without a table of inodes say that there are none. */
	return is_below((uint64_t)fs->f_bavail * fs->f_frsize,
			(uint64_t)fs->f_blocks * fs->f_frsize, percent, bytes) ||
	       is_below(fs->f_favail, fs->f_files, percent, UINT64_MAX);
}

static void find_problems(struct core *c, bool is_restored, struct gauges *g)
{
	bool full = is_short(&g->fs, FULL_PERCENT, FULL_BYTES);

	g->has_problem[PROBLEM_READ_ONLY] = store_is_broken(c->store);
	g->has_problem[PROBLEM_DAMAGED] = g->damaged > 0;
	g->has_problem[PROBLEM_DATABASE] = db_has_met_damage();
	g->has_problem[PROBLEM_DISK_FULL] = full;
	g->has_problem[PROBLEM_DISK_NEARLY_FULL] =
		!full && is_short(&g->fs, NEARLY_FULL_PERCENT, NEARLY_FULL_BYTES);
	g->has_problem[PROBLEM_QUOTA] =
		g->quota_used > g->quota / 100 * (100 - NEARLY_FULL_PERCENT) && g->quota;
	g->has_problem[PROBLEM_RESTORED] = is_restored;
	g->has_problem[PROBLEM_WAL_LARGE] = g->wal_bytes > WAL_LARGE;
	g->has_problem[PROBLEM_GC_FAILED] = atomic_load(&c->metrics.gc_ended) &&
					    atomic_load(&c->metrics.gc_last) == GC_RUN_FAILED;
}

static void count_work(struct core *c, struct gauges *g)
{
	unsigned int live, waiting;

	lease_counts(c, &live, &waiting);
	g->leases = live;
	g->waiting = waiting;
	g->sessions = session_table_count(c);
	g->in_progress = busy_count(&c->busy);
}

int gauges_read(struct core *c, struct db *db, struct gauges *out)
{
	struct gauges g = { .revision = atomic_load(&c->live.rev) };
	bool is_restored = false;
	int err = setting_get(db, "token", &g.tokens);

	if (err == -ENOENT) /* no token was ever issued */
		err = 0;
	if (!err)
		err = damaged_count(db, &g.damaged);
	if (!err)
		err = quota_get(db, &g.quota, &g.quota_used);
	if (!err)
		err = generation_is_restored(c->store, db, &is_restored);
	if (!err)
		err = store_statvfs(c->store, &g.fs);
	if (err < 0)
		return err;
	usage_of_database(c->store, &g.database_bytes, &g.wal_bytes);
	store_cache_counts(c->store, &g.cache_hits, &g.cache_misses);
	g.has_space = space_look(c, &g.space);
	count_work(c, &g);
	find_problems(c, is_restored, &g);
	*out = g;
	return 0;
}
