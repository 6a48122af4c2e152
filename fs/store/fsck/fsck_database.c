/* SPDX-License-Identifier: MIT */
/*
 * Invariant 1: SQLite's own check. Layer: store.
 *
 * integrity_check compares every index with its table; quick_check leaves that out and is many
 * times faster. The former runs on databases up to INTEGRITY_MAX, and on all with --data.
 */
#include "store/fsck/fsck_impl.h"

#include <stdio.h>
#include <string.h>

#define INTEGRITY_MAX (INT64_C(1) << 30)

static int is_large(struct fsck *f, bool *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(f->db,
			  "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
			  &st);

	if (!res)
		res = stmt_step(st);
	if (res > 0)
		*out = stmt_get_int(st, 0) > INTEGRITY_MAX;
	return res < 0 ? res : 0;
}

static int found(struct fsck *f, struct stmt *st, void *arg)
{
	struct fsck_finding x;
	char text[256], index[64];
	long long row;

	(void)arg;
	if (stmt_get_str(st, 0, text, sizeof(text)))
		snprintf(text, sizeof(text), "(a long message)");
	if (strcmp(text, "ok") == 0)
		return 0;
	fsck_finding_init(&x, FSCK_DATABASE, "meta.db: %s", text);
	if (sscanf(text, "row %lld missing from index %63s", &row, index) == 2 &&
	    strncmp(index, "entry_", 6) == 0)
		fsck_name_row(f, row, &x);
	return fsck_report(f, &x);
}

int fsck_check_database(struct fsck *f)
{
	bool large = false;
	int err = fsck_survive(f, "the size of the database", is_large(f, &large));

	if (err)
		return err;
	if (large && !f->opt.is_thorough)
		return fsck_query(f, "meta.db", "PRAGMA quick_check(100)", found, NULL);
	return fsck_query(f, "meta.db", "PRAGMA integrity_check(100)", found, NULL);
}
