/* SPDX-License-Identifier: MIT */
/* The inside of a check, for the fsck_*.c files. */
#ifndef FENCE_STORE_FSCK_FSCK_IMPL_H
#define FENCE_STORE_FSCK_FSCK_IMPL_H

#include "store/fsck/fsck.h"
#include "store/sqlite/db.h"

struct fsck {
	struct store *s; /* borrowed */
	struct db *db;	 /* borrowed from the pool of @s for the life of the check */
	struct fsck_options opt;
	struct fsck_totals totals;
	int64_t revision; /* the newest, in the snapshot */
	unsigned ticks;
};

/* A finding of @rule with its fixed words. @fmt: what was found. */
void fsck_finding_init(struct fsck_finding *x, enum fsck_rule rule, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Hand it to the caller. */
int fsck_report(struct fsck *f, struct fsck_finding *x);
/* Now and then: whether to stop. */
int fsck_tick(struct fsck *f);

/* Which path and version row @row of entry is, as well as it can be told. */
void fsck_name_row(struct fsck *f, int64_t row, struct fsck_finding *x);
/* Which versions refer to the finding's blob; a refusal that keeps it, if none does. */
void fsck_name_blob(struct fsck *f, const struct blob_id *id, struct fsck_finding *x);

/*
 * Run a query; @fn gets each row. A database that is too damaged to answer makes one finding of
 * FSCK_DATABASE about @what, and the check goes on.
 */
typedef int (*fsck_row_fn)(struct fsck *f, struct stmt *st, void *arg);
int fsck_query(struct fsck *f, const char *what, const char *sql, fsck_row_fn fn, void *arg);
/* The same with parameter 1. */
int fsck_query_int(struct fsck *f, const char *what, const char *sql, int64_t param, fsck_row_fn fn,
		   void *arg);
/* -EUCLEAN of some step while looking at @what becomes a finding, 0; other errors stay. */
int fsck_survive(struct fsck *f, const char *what, int err);

/* The checks, in this order. */
int fsck_check_pages(struct fsck *f);	 /* 1 */
int fsck_check_database(struct fsck *f); /* 1 */
int fsck_check_entries(struct fsck *f);	 /* 2-5, 9 */
int fsck_check_dirs(struct fsck *f);	 /* 6-8, 10, 19 */
int fsck_check_fences(struct fsck *f);	 /* 11-13 */
int fsck_check_blobs(struct fsck *f);	 /* 14-18, 22 */
int fsck_check_files(struct fsck *f);	 /* 20; outside of the snapshot */

#endif
