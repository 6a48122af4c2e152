/* SPDX-License-Identifier: MIT */
/* The inside of a plan, for the fsck_repair*.c files. */
#ifndef FENCE_STORE_FSCK_FSCK_PLAN_H
#define FENCE_STORE_FSCK_FSCK_PLAN_H

#include "store/fsck/fsck_repair.h"

struct fsck_step {
	enum fsck_action action;
	int64_t row, number;
	bool has_blob;
	struct blob_id blob;
	char *path; /* owned */
};

struct fsck_plan {
	struct fsck_step *step; /* owned */
	size_t n, room;
	bool is_hopeless;
};

struct db;

/* Rows that are about to change, as SQL, to @fd. */
int fsck_record_rows(struct db *db, const struct fsck_plan *p, int fd);
/* All that concerns the tables; within a transaction of the writer. */
int fsck_repair_tables(struct db *db, const struct fsck_plan *p);

#endif
