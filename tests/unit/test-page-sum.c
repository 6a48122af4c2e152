/* SPDX-License-Identifier: MIT */
/* Sums of pages: kept by whoever writes through the VFS, compared by whoever reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sqlite3.h>
#include <unistd.h>

#include "scratch.h"
#include "store/sqlite/page_sum.h"

#define OPEN (SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE)

static sqlite3 *open_name(const struct scratch *t, const char *name, const char *vfs)
{
	char path[128];
	sqlite3 *sq = NULL;

	snprintf(path, sizeof(path), "%s/%s", t->dir, name);
	assert_int_equal(sqlite3_open_v2(path, &sq, OPEN, vfs), SQLITE_OK);
	return sq;
}

static sqlite3 *open_db(const struct scratch *t)
{
	return open_name(t, "db", page_sum_vfs());
}

static void run(sqlite3 *sq, const char *sql)
{
	assert_int_equal(sqlite3_exec(sq, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* 200 rows on a few pages, checkpointed. */
static sqlite3 *filled(const struct scratch *t, bool with_sums)
{
	sqlite3 *sq = open_db(t);

	run(sq, "PRAGMA page_size = 4096");
	if (with_sums)
		assert_int_equal(page_sum_want(sq), SQLITE_OK);
	run(sq, "PRAGMA journal_mode = WAL; CREATE TABLE t(n INTEGER PRIMARY KEY, x);"
		"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 200)"
		" INSERT INTO t SELECT i, randomblob(100) FROM c;"
		"PRAGMA wal_checkpoint(TRUNCATE)");
	return sq;
}

static int count_rows(sqlite3 *sq)
{
	return sqlite3_exec(sq, "SELECT sum(length(x)) FROM t", NULL, NULL, NULL);
}

static void flip(const struct scratch *t, off_t at)
{
	char path[128];
	unsigned char byte;
	int fd;

	snprintf(path, sizeof(path), "%s/db", t->dir);
	fd = open(path, O_RDWR);

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void every_page_that_is_written_has_one(void **state)
{
	struct scratch *t = *state;
	sqlite3 *sq = filled(t, true);
	uint32_t pgno = 1;

	assert_true(page_sum_is_on(sq));
	while (page_sum_check(sq, pgno) == 1)
		pgno++;
	assert_true(pgno > 5);
	assert_int_equal(page_sum_check(sq, pgno), -ENODATA);
	sqlite3_close(sq);
}

static void a_damaged_page_cannot_be_read(void **state)
{
	struct scratch *t = *state;

	sqlite3_close(filled(t, true));
	for (off_t at = 2000; at < 3 * PAGE_SUM_PAGE; at += PAGE_SUM_PAGE) {
		sqlite3 *sq;

		flip(t, at);
		sq = open_db(t);
		assert_int_equal(count_rows(sq), SQLITE_IOERR_DATA);
		assert_int_equal(page_sum_check(sq, (uint32_t)(at / PAGE_SUM_PAGE + 1)), 0);
		sqlite3_close(sq);
		flip(t, at);
	}
}

static void a_tolerant_reader_gets_it(void **state)
{
	struct scratch *t = *state;
	sqlite3 *sq;

	sqlite3_close(filled(t, true));
	flip(t, 2 * PAGE_SUM_PAGE + 2000);
	sq = open_db(t);
	page_sum_tolerate(sq, PAGE_SUM_ALL);
	assert_int_equal(count_rows(sq), SQLITE_OK);
	assert_int_equal(page_sum_renew(sq, 3), 1);
	assert_int_equal(page_sum_check(sq, 3), 1);
	sqlite3_close(sq);
}

/* Byte 20 is what says that there are sums. */
static void they_cannot_be_switched_off_by_damage(void **state)
{
	struct scratch *t = *state;
	sqlite3 *sq;

	sqlite3_close(filled(t, true));
	flip(t, 20);
	sq = open_db(t);
	assert_true(page_sum_is_on(sq));
	assert_int_equal(count_rows(sq), SQLITE_IOERR_DATA);
	sqlite3_close(sq);
}

static void a_database_without_stays_without(void **state)
{
	struct scratch *t = *state;
	sqlite3 *sq = filled(t, false);

	assert_false(page_sum_is_on(sq));
	run(sq, "UPDATE t SET x = 'y'");
	sqlite3_close(sq);
	sq = open_name(t, "db", NULL);
	run(sq, "PRAGMA integrity_check");
	assert_int_equal(count_rows(sq), SQLITE_OK);
	sqlite3_close(sq);
}

static void a_copy_is_as_its_origin(void **state)
{
	struct scratch *t = *state;
	sqlite3 *from = filled(t, true), *to;
	sqlite3_backup *b;

	to = open_name(t, "copy", page_sum_vfs());
	page_sum_as(to, from);
	run(from, "UPDATE t SET x = randomblob(90)"); /* in the WAL, where no page has a sum */
	b = sqlite3_backup_init(to, "main", from, "main");
	assert_int_equal(sqlite3_backup_step(b, -1), SQLITE_DONE);
	assert_int_equal(sqlite3_backup_finish(b), SQLITE_OK);
	sqlite3_close(from);
	sqlite3_close(to);
	to = open_name(t, "copy", page_sum_vfs());
	for (uint32_t pgno = 1; pgno < 6; pgno++)
		assert_int_equal(page_sum_check(to, pgno), 1);
	assert_int_equal(count_rows(to), SQLITE_OK);
	sqlite3_close(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in(scratch_dir, every_page_that_is_written_has_one),
		test_in(scratch_dir, a_damaged_page_cannot_be_read),
		test_in(scratch_dir, a_tolerant_reader_gets_it),
		test_in(scratch_dir, they_cannot_be_switched_off_by_damage),
		test_in(scratch_dir, a_database_without_stays_without),
		test_in(scratch_dir, a_copy_is_as_its_origin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
