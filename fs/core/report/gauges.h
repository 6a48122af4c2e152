/* SPDX-License-Identifier: MIT */
/* How it stands now: what metrics and status both tell. For this layer only. */
#ifndef FENCE_CORE_REPORT_GAUGES_H
#define FENCE_CORE_REPORT_GAUGES_H

#include "core/upkeep/space.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

struct core;
struct db;

enum problem {
	PROBLEM_READ_ONLY,
	PROBLEM_DAMAGED,
	PROBLEM_DATABASE,
	PROBLEM_DISK_FULL,
	PROBLEM_DISK_NEARLY_FULL,
	PROBLEM_QUOTA,
	PROBLEM_RESTORED,
	PROBLEM_WAL_LARGE,
	PROBLEM_GC_FAILED,
	PROBLEMS
};

struct problem_kind {
	const char *name; /* a label: words with '_' between them */
	bool is_critical; /* else a warning */
	const char *advice;
};

extern const struct problem_kind problem_kinds[PROBLEMS];

struct gauges {
	int64_t revision, tokens;
	int64_t damaged;
	int64_t quota, quota_used; /* bytes; quota 0: none */
	int64_t database_bytes, wal_bytes;
	int64_t cache_hits, cache_misses;
	int64_t sessions, leases, waiting, in_progress;
	struct statvfs fs;
	bool has_space;
	struct space_result space;
	bool has_problem[PROBLEMS];
};

/* @db: a reader. */
int gauges_read(struct core *c, struct db *db, struct gauges *out);

#endif
