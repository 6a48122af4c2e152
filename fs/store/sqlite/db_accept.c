/* SPDX-License-Identifier: MIT */
/* New sums for pages that do not match theirs. Layer: store. */
#include "store/sqlite/db_conn.h"
#include "store/sqlite/page_sum.h"

#include <errno.h>

static void close_it(sqlite3 **sq)
{
	sqlite3_close(*sq);
}

static int accept_all(sqlite3 *sq, int64_t *out)
{
	int64_t n = 0;
	int res = 1;

	for (uint32_t pgno = 1; res >= 0; pgno++) {
		res = page_sum_check(sq, pgno);
		if (res == 0) {
			res = page_sum_renew(sq, pgno);
			n++;
		}
	}
	if (res != -ENODATA)
		return res;
	*out = n;
	return page_sum_sync(sq);
}

int db_accept_pages(const char *path, int64_t *out_pages, struct errmsg *err)
{
	__attribute__((cleanup(close_it))) sqlite3 *sq = NULL;
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX;
	int code = sqlite3_open_v2(path, &sq, flags, page_sum_vfs());
	int res;

	if (code == SQLITE_OK) {
		page_sum_tolerate(sq, PAGE_SUM_ALL);
		code = sqlite3_exec(sq, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
	}
	if (code != SQLITE_OK)
		return errmsg_set(err, -EUCLEAN, "cannot read the database %s: %s", path,
				  sqlite3_errmsg(sq));
	if (!page_sum_is_on(sq))
		return errmsg_set(err, -EOPNOTSUPP, "the database %s has no checksums", path);
	res = accept_all(sq, out_pages);
	return res ? errmsg_set(err, res, "cannot write to the database %s", path) : 0;
}
