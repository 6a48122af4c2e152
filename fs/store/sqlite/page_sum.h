/* SPDX-License-Identifier: MIT */
/*
 * A sum in each page of the database: what was not written is not read (SQLite itself does not
 * notice a flipped bit in a row).
 *
 * A VFS over the system's own keeps XXH3-64 of each page, seeded with the page's number (so that
 * pages in each other's place are found, too), in the 8 bytes that SQLite leaves free at the end of
 * a page when it is asked to (byte 20 of the header says so:
 * https://www.sqlite.org/fileformat2.html). The sum is set when a page is written to the database
 * and compared when it is read from there; the WAL has sums of its own. A page that does not match
 * cannot be read: SQLITE_IOERR_DATA, which the driver makes -EUCLEAN. A page of zeros without a sum
 * is one that SQLite never wrote. A database that was made without sums is read and written as it
 * is.
 *
 * The table of blobs is the exception (page_sum_tolerate): each of its rows has a hash of the
 * content, so one flipped byte need not take the other contents on its page along. What leads to
 * rows, and what says which pages are free, has none: who writes is never let past that.
 *
 * Other programs can read such a database, since the sums lie where SQLite has nothing; what they
 * write in it has no sums and is taken for damage (but see store_accept.h).
 */
#ifndef FENCE_STORE_SQLITE_PAGE_SUM_H
#define FENCE_STORE_SQLITE_PAGE_SUM_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE_SUM_PAGE 4096 /* the only size of pages that there is */

/* For sqlite3_open_v2(). From any thread. NULL: it could not be registered (no memory). */
const char *page_sum_vfs(void);
/* How often, in this process, a page that was read did not match. From any thread. */
uint64_t page_sum_misses(void);
/* A database that is still empty, opened so, is to have sums. SQLite's code. */
int page_sum_want(sqlite3 *sq);
/* Whether it has them. */
bool page_sum_is_on(sqlite3 *sq);
enum page_sum_tolerance {
	PAGE_SUM_STRICT,
	PAGE_SUM_ROWS, /* of pages with rows of a table, and nothing else */
	PAGE_SUM_ALL,
};

/*
 * From now on a page that does not match is read all the same, with a word in the log. Whether one
 * was since the last call: it may be in the connection's cache.
 */
bool page_sum_tolerate(sqlite3 *sq, enum page_sum_tolerance how);
/* The empty database @to is about to become a copy of @from, page by page. */
void page_sum_as(sqlite3 *to, sqlite3 *from);
/*
 * Read page @pgno (from 1) of the database's file as it is there, the WAL left aside. 1: it is as
 * it was written.  0: not.  -ENODATA: the file ends before.  -EIO: the disk does not give it. Needs
 * page_sum_is_on().
 */
int page_sum_check(sqlite3 *sq, uint32_t pgno);
/* It is what was written, from now on: 1. Of a database that nobody else has open. -EIO. */
int page_sum_renew(sqlite3 *sq, uint32_t pgno);
/* What page_sum_renew() wrote is on the disk. -EIO. */
int page_sum_sync(sqlite3 *sq);

#endif
