/* SPDX-License-Identifier: MIT */
/* The families of this layer. See metrics.h. Core layer. */
#include "core/service/core_impl.h"
#include "core/upkeep/gc_service.h"
#include "core/report/gauges.h"

#include "store/sqlite/db_version.h"
#include "store/store.h"

#include <errno.h>
#include <string.h>

enum family {
	UP,
	STORE_INFO,
	START_TIME,
	REVISION,
	TOKENS,
	PROBLEM,
	COMMITS,
	CHANGED,
	COMMIT_TIME,
	TRANSACT_TIME,
	TRANSACT_JOBS,
	CLAIMS,
	REQUESTS,
	REFUSALS,
	STALE_WRITES,
	CONVERSATIONS,
	CONVERSATIONS_OPEN,
	IN_PROGRESS,
	LEASES,
	LEASE_WAITERS,
	LEASE_GRANTS,
	LEASE_RENEWALS,
	LEASE_ENDS,
	SESSIONS,
	SESSIONS_OPENED,
	SESSIONS_ENDED,
	DAMAGED,
	CHECKS,
	DATABASE_BYTES,
	WAL_BYTES,
	CACHE_HITS,
	CACHE_MISSES,
	DISK_FREE,
	DISK_SIZE,
	QUOTA,
	QUOTA_USED,
	CONTENT,
	CONTENT_BYTES,
	SPACE_TIME,
	SPACE_TOOK,
	GC_RUNS,
	GC_REMOVED,
	GC_REMOVED_BYTES,
	GC_END,
	GC_RUNNING,
	FAMILIES
};

static const struct metric families[FAMILIES] = {
	[UP] = { "fencefs_up", "Whether the mount answers; if it does not, fence metrics writes 0.",
		 METRIC_GAUGE },
	[STORE_INFO] = { "fencefs_store_info",
			 "Always 1; the label names the store that is served.", METRIC_GAUGE },
	[START_TIME] = { "fencefs_start_time_seconds",
			 "When the daemon began to serve, in seconds since 1970; counters start "
			 "at 0 then.",
			 METRIC_GAUGE },
	[REVISION] = { "fencefs_revision", "The current revision of the store.", METRIC_GAUGE },
	[TOKENS] = { "fencefs_last_token", "The last token issued with a lease.", METRIC_GAUGE },
	[PROBLEM] = { "fencefs_problem",
		      "Whether something needs attention, by problem and severity; see fence "
		      "status.",
		      METRIC_GAUGE },
	[COMMITS] = { "fencefs_commits_total",
		      "Attempts to publish, by means (session, put, remove, restore) and result.",
		      METRIC_COUNTER },
	[CHANGED] = { "fencefs_committed_changes_total", "Paths changed by commits.",
		      METRIC_COUNTER },
	[COMMIT_TIME] = { "fencefs_commit_duration_seconds",
			  "Time from request to answer of all attempts to publish.",
			  METRIC_HISTOGRAM },
	[TRANSACT_TIME] = { "fencefs_transaction_duration_seconds",
			    "Time taken by transactions that write the database, fsync included.",
			    METRIC_HISTOGRAM },
	[TRANSACT_JOBS] = { "fencefs_transaction_jobs_total",
			    "Jobs carried out in these transactions; several can share one.",
			    METRIC_COUNTER },
	[CLAIMS] = { "fencefs_claims_total",
		     "Requests to claim, by result; claims of sessions, puts and leases are counted "
		     "with those.",
		     METRIC_COUNTER },
	[REQUESTS] = { "fencefs_ctl_requests_total",
		       "Requests answered on .fence/ctl, by verb and result.", METRIC_COUNTER },
	[REFUSALS] = { "fencefs_refusals_total",
		       "Requests on .fence/ctl answered with err, by errno.", METRIC_COUNTER },
	[STALE_WRITES] = { "fencefs_stale_operations_total",
			   "Changes refused in overtaken sessions; the kernel tries each twice.",
			   METRIC_COUNTER },
	[CONVERSATIONS] = { "fencefs_ctl_conversations_total",
			    "How often .fence/ctl has been opened.", METRIC_COUNTER },
	[CONVERSATIONS_OPEN] = { "fencefs_ctl_conversations",
				 "How many times .fence/ctl is open now.", METRIC_GAUGE },
	[IN_PROGRESS] = { "fencefs_requests_in_progress",
			  "Commits, claims, waits for a lease and the like that have not been "
			  "answered yet.",
			  METRIC_GAUGE },
	[LEASES] = { "fencefs_leases", "Leases held now.", METRIC_GAUGE },
	[LEASE_WAITERS] = { "fencefs_lease_waiters", "Clients waiting for a lease.", METRIC_GAUGE },
	[LEASE_GRANTS] = { "fencefs_lease_grants_total", "Leases granted.", METRIC_COUNTER },
	[LEASE_RENEWALS] = { "fencefs_lease_renewals_total", "Leases renewed.", METRIC_COUNTER },
	[LEASE_ENDS] = { "fencefs_lease_ends_total",
			 "Leases ended: released, expired, or lost to a claim.", METRIC_COUNTER },
	[SESSIONS] = { "fencefs_sessions", "Open sessions.", METRIC_GAUGE },
	[SESSIONS_OPENED] = { "fencefs_sessions_opened_total", "Sessions opened.", METRIC_COUNTER },
	[SESSIONS_ENDED] = { "fencefs_sessions_ended_total",
			     "Sessions ended: committed, refused, or aborted.", METRIC_COUNTER },
	[DAMAGED] = { "fencefs_damaged_contents",
		      "Blobs known to be damaged, which are not handed out.", METRIC_GAUGE },
	[CHECKS] = { "fencefs_checks_total",
		     "Files due to be compared with their hash after they were read, by result.",
		     METRIC_COUNTER },
	[DATABASE_BYTES] = { "fencefs_database_bytes", "Size of meta.db without its WAL.",
			     METRIC_GAUGE },
	[WAL_BYTES] = { "fencefs_wal_bytes", "Size of the write-ahead log.", METRIC_GAUGE },
	[CACHE_HITS] = { "fencefs_page_cache_hits_total",
			 "Database pages that SQLite found in its cache.", METRIC_COUNTER },
	[CACHE_MISSES] = { "fencefs_page_cache_misses_total",
			   "Database pages that SQLite had to read.", METRIC_COUNTER },
	[DISK_FREE] = { "fencefs_filesystem_free_bytes",
			"Space available to the store on its file system.", METRIC_GAUGE },
	[DISK_SIZE] = { "fencefs_filesystem_size_bytes",
			"Size of the file system that holds the store.", METRIC_GAUGE },
	[QUOTA] = { "fencefs_quota_bytes",
		    "How large the blobs may grow in total, as set by fence policy; 0: no limit.",
		    METRIC_GAUGE },
	[QUOTA_USED] = { "fencefs_quota_used_bytes",
			 "How much of that is used; 0 if there is no limit.", METRIC_GAUGE },
	[CONTENT] = { "fencefs_contents",
		      "Blobs, by what needs them, as of fencefs_contents_timestamp_seconds.",
		      METRIC_GAUGE },
	[CONTENT_BYTES] = { "fencefs_contents_bytes",
			    "Their size, as of fencefs_contents_timestamp_seconds.", METRIC_GAUGE },
	[SPACE_TIME] = { "fencefs_contents_timestamp_seconds",
			 "When the blobs were last counted, which is costly and not done each "
			 "time; 0: not yet.",
			 METRIC_GAUGE },
	[SPACE_TOOK] = { "fencefs_contents_count_duration_seconds", "How long that count took.",
			 METRIC_GAUGE },
	[GC_RUNS] = { "fencefs_gc_runs_total", "Runs of gc in the daemon, by result.",
		      METRIC_COUNTER },
	[GC_REMOVED] = { "fencefs_gc_removed_contents_total", "Blobs removed by gc.",
			 METRIC_COUNTER },
	[GC_REMOVED_BYTES] = { "fencefs_gc_removed_bytes_total", "Their size.", METRIC_COUNTER },
	[GC_END] = { "fencefs_gc_last_end_timestamp_seconds",
		     "When gc last finished in this daemon; 0: not yet.", METRIC_GAUGE },
	[GC_RUNNING] = { "fencefs_gc_running", "Whether gc is running.", METRIC_GAUGE },
};

static void one(struct metric_text *t, enum family f, int64_t value)
{
	metric_family(t, &families[f], value);
}

static void one_time(struct metric_text *t, enum family f, int64_t ns)
{
	metric_begin(t, &families[f]);
	metric_seconds(t, &families[f], METRIC_PLAIN, ns);
}

static void one_histogram(struct metric_text *t, enum family f, const struct histogram *h)
{
	metric_begin(t, &families[f]);
	metric_histogram(t, &families[f], METRIC_PLAIN, h);
}

static void by_name(struct metric_text *t, enum family f, const char *label,
		    const char *const *names, const metric_counter *counters, int n)
{
	metric_family_of(t, &families[f], label, names, counters, n);
}

static void write_identity(struct core *c, const struct gauges *g, struct metric_text *t)
{
	one(t, UP, 1);
	metric_begin(t, &families[STORE_INFO]);
	metric_int(t, &families[STORE_INFO], METRIC_LABEL("store", store_uuid(c->store)), 1);
	one_time(t, START_TIME, c->metrics.started);
	one(t, REVISION, g->revision);
	one(t, TOKENS, g->tokens);
	metric_begin(t, &families[PROBLEM]);
	for (int i = 0; i < PROBLEMS; i++)
		metric_int(t, &families[PROBLEM],
			   METRIC_LABELS("problem", problem_kinds[i].name, "severity",
					 problem_kinds[i].is_critical ? "critical" : "warning"),
			   g->has_problem[i]);
}

static void write_commits(struct core *c, struct metric_text *t)
{
	static const char *const verbs[COMMIT_VERBS] = { "session", "put", "remove", "restore" };
	static const char *const endings[COMMIT_ENDINGS] = {
		"committed",	  "replayed", "refused_stale", "refused_precondition",
		"refused_access", "refused",  "no_space",      "unknown",
		"failed"
	};
	struct metrics *m = &c->metrics;

	metric_begin(t, &families[COMMITS]);
	for (int v = 0; v < COMMIT_VERBS; v++)
		for (int e = 0; e < COMMIT_ENDINGS; e++)
			metric_int(t, &families[COMMITS],
				   METRIC_LABELS("by", verbs[v], "result", endings[e]),
				   metric_get(&m->commits[v][e]));
	one(t, CHANGED, metric_get(&m->changed));
	one_histogram(t, COMMIT_TIME, &m->commit_time);
	one_histogram(t, TRANSACT_TIME, &m->transact_time);
	one(t, TRANSACT_JOBS, metric_get(&m->jobs));
}

static void write_requests(struct core *c, const struct gauges *g, struct metric_text *t)
{
	static const char *const claims[CLAIM_ENDINGS] = { "accepted", "refused", "failed" };
	struct metrics *m = &c->metrics;
	const char *name;

	by_name(t, CLAIMS, "result", claims, m->claims, CLAIM_ENDINGS);
	metric_begin(t, &families[REQUESTS]);
	for (int i = 0; (name = ctl_verb_name(i)); i++)
		for (int err = 0; err < 2; err++)
			metric_int(t, &families[REQUESTS],
				   METRIC_LABELS("verb", name, "result", err ? "err" : "ok"),
				   metric_get(&m->requests[i][err]));
	metric_begin(t, &families[REFUSALS]);
	for (int i = 0; (name = metrics_errno_name(i)); i++)
		metric_int(t, &families[REFUSALS], METRIC_LABEL("errno", name),
			   metric_get(&m->refusals[i]));
	one(t, STALE_WRITES, metric_get(&m->stale_writes));
	one(t, CONVERSATIONS, metric_get(&m->conversations));
	one(t, CONVERSATIONS_OPEN, atomic_load(&m->open_conversations));
	one(t, IN_PROGRESS, g->in_progress);
}

static void write_owners(struct core *c, const struct gauges *g, struct metric_text *t)
{
	static const char *const lease_ends[LEASE_ENDINGS] = { "released", "expired", "lost" };
	static const char *const session_ends[SESSION_ENDINGS] = { "committed", "refused",
								   "aborted" };
	struct metrics *m = &c->metrics;

	one(t, LEASES, g->leases);
	one(t, LEASE_WAITERS, g->waiting);
	one(t, LEASE_GRANTS, metric_get(&m->leases_granted));
	one(t, LEASE_RENEWALS, metric_get(&m->leases_renewed));
	by_name(t, LEASE_ENDS, "how", lease_ends, m->leases_ended, LEASE_ENDINGS);
	one(t, SESSIONS, g->sessions);
	one(t, SESSIONS_OPENED, metric_get(&m->sessions_opened));
	by_name(t, SESSIONS_ENDED, "result", session_ends, m->sessions_ended, SESSION_ENDINGS);
}

static void write_contents(const struct gauges *g, struct metric_text *t)
{
	const struct usage *u = &g->space.usage;
	const struct {
		const char *name;
		const struct usage_part *part;
	} parts[] = {
		{ "live", &u->live },
		{ "history", &u->history },
		{ "orphans", &u->orphans },
		{ "staging", &u->staging },
	};

	for (int bytes = 0; bytes < 2; bytes++) {
		const struct metric *m = &families[bytes ? CONTENT_BYTES : CONTENT];

		metric_begin(t, m);
		for (size_t i = 0; g->has_space && i < sizeof(parts) / sizeof(parts[0]); i++)
			metric_int(t, m, METRIC_LABEL("of", parts[i].name),
				   bytes ? parts[i].part->bytes : parts[i].part->n);
	}
	one_time(t, SPACE_TIME, g->space.at);
	one_time(t, SPACE_TOOK, g->space.took);
}

static void write_store(struct core *c, const struct gauges *g, struct metric_text *t)
{
	static const char *const endings[CHECK_ENDINGS] = { "good", "damaged", "memory",
							    "unfinished", "left_out" };

	one(t, DAMAGED, g->damaged);
	by_name(t, CHECKS, "result", endings, c->metrics.checks, CHECK_ENDINGS);
	one(t, DATABASE_BYTES, g->database_bytes);
	one(t, WAL_BYTES, g->wal_bytes);
	one(t, CACHE_HITS, g->cache_hits);
	one(t, CACHE_MISSES, g->cache_misses);
	one(t, DISK_FREE, (int64_t)(g->fs.f_bavail * g->fs.f_frsize));
	one(t, DISK_SIZE, (int64_t)(g->fs.f_blocks * g->fs.f_frsize));
	one(t, QUOTA, g->quota);
	one(t, QUOTA_USED, g->quota_used);
	write_contents(g, t);
}

static void write_gc(struct core *c, struct metric_text *t)
{
	static const char *const endings[GC_ENDINGS] = { "ok", "stopped", "failed" };
	struct metrics *m = &c->metrics;
	struct gc_progress progress;
	int64_t started;

	by_name(t, GC_RUNS, "result", endings, m->gc_runs, GC_ENDINGS);
	one(t, GC_REMOVED, metric_get(&m->gc_removed));
	one(t, GC_REMOVED_BYTES, metric_get(&m->gc_removed_bytes));
	one_time(t, GC_END, atomic_load(&m->gc_ended));
	one(t, GC_RUNNING, gc_look(c, &progress, &started));
}

const char *metrics_database_version(void)
{
	return db_version();
}

int metrics_write(struct core *c, struct metric_text *out)
{
	struct gauges g;
	struct db *db;
	int64_t rev;
	int err = core_read_begin(c, &db, &rev);

	if (err < 0)
		return err;
	err = gauges_read(c, db, &g);
	core_read_end(c, db);
	if (err < 0)
		return err;
	write_identity(c, &g, out);
	write_commits(c, out);
	write_requests(c, &g, out);
	write_owners(c, &g, out);
	write_store(c, &g, out);
	write_gc(c, out);
	return out->failed ? -ENOMEM : 0;
}
