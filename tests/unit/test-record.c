/* SPDX-License-Identifier: MIT */
/* Records: sessions, revisions, refusals, events. Unit test. */
#include "scratch.h"

#include "store/sqlite/db.h"
#include "store/tree/revision.h"
#include "store/tree/session_row.h"
#include "store/tree/reject.h"
#include "store/sqlite/setting.h"
#include "store/sqlite/txn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int64_t count(struct scratch *t, const char *sql)
{
	auto_stmt struct stmt *st = NULL;

	assert_int_equal(db_stmt(t->db, sql, &st), 0);
	assert_int_equal(stmt_step(st), 1);
	return stmt_get_int(st, 0);
}

static void keeps_settings(void **state)
{
	struct scratch *t = *state;
	int64_t v = 7;

	assert_int_equal(setting_get(t->db, "x", &v), -ENOENT);
	assert_int_equal(v, 7);
	assert_int_equal(setting_set(t->db, "x", INT64_MAX), 0);
	assert_int_equal(setting_set(t->db, "x", INT64_MIN), 0);
	assert_int_equal(setting_get(t->db, "x", &v), 0);
	assert_int_equal(v, INT64_MIN);
}

static void begins_at_revision_zero(void **state)
{
	struct scratch *t = *state;
	struct revision r;
	int64_t v = 7;

	assert_int_equal(revision_current(t->db, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(revision_get(t->db, 0, &r), 0);
	assert_string_equal(r.path, ".");
	assert_true(r.at > 0);
	assert_int_equal(revision_get(t->db, 1, &r), -ENOENT);
}

static void follows_sessions(void **state)
{
	struct scratch *t = *state;
	struct session_row row = {
		.id = "ab", .path = "p/q", .owner = "o", .token = 5, .opened = 9, .uid = 7
	};
	struct session_row got;

	assert_int_equal(session_row_get(t->db, "ab", &got), -ENOENT);
	assert_int_equal(session_row_add(t->db, &row), 0);
	assert_int_equal(session_row_add(t->db, &row), -EEXIST);
	assert_int_equal(session_row_get(t->db, "ab", &got), 0);
	assert_string_equal(got.path, "p/q");
	assert_string_equal(got.owner, "o");
	assert_int_equal(got.token, 5);
	assert_int_equal(got.opened, 9);
	assert_int_equal(got.uid, 7);
	assert_int_equal(got.outcome, SESSION_OPEN);
	assert_int_equal(session_row_end(t->db, "ab", SESSION_COMMITTED, 12), 0);
	assert_int_equal(session_row_end(t->db, "cd", SESSION_COMMITTED, 12), -ENOENT);
	strcpy(row.id, "cd");
	assert_int_equal(session_row_add(t->db, &row), 0);
	assert_int_equal(session_rows_abort_open(t->db), 0);
	assert_int_equal(session_row_get(t->db, "ab", &got), 0);
	assert_int_equal(got.outcome, SESSION_COMMITTED);
	assert_int_equal(got.revision, 12);
	assert_int_equal(session_row_get(t->db, "cd", &got), 0);
	assert_int_equal(got.outcome, SESSION_ABORTED);
}

static void bounds_sessions(void **state)
{
	struct scratch *t = *state;
	struct session_row row = { .id = "first", .path = "p" };

	assert_int_equal(session_row_add(t->db, &row), 0);
	assert_int_equal(
		db_exec(t->db,
			"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100100)"
			" INSERT INTO session(id, path, token, owner, uid, opened, outcome, revision)"
			" SELECT 's' || i, x'70', 1, '', 0, 0, 1, 0 FROM n"),
		0);
	strcpy(row.id, "last");
	assert_int_equal(session_row_add(t->db, &row), 0);
	assert_int_equal(count(t, "SELECT count(*) FROM session"),
			 100001); /* and the one that is open */
	assert_int_equal(session_row_get(t->db, "first", &row), 0);
	assert_int_equal(session_rows_abort_open(t->db), 0);
	assert_int_equal(count(t, "SELECT count(*) FROM session"), 100000);
}

static struct reject sample(void)
{
	return (struct reject){
		.path = "p/x",
		.held_path = "p",
		.token = 4,
		.highest = 5,
		.held_by = "b",
		.owner = "a",
		.op = "k",
		.session = "ab",
		.stage = "commit",
		.why = "ESTALE",
		.uid = 1000,
		.has_blob = true,
		.blob = { { 3 } },
		.size = 77,
	};
}

static void records_refusals(void **state)
{
	struct scratch *t = *state;
	struct reject r = sample(), got;
	struct session_row session = { .id = "ab", .path = "p" };

	assert_int_equal(reject_next(t->db, 0, &got), -ENOENT);
	assert_int_equal(reject_add(t->db, &r), 0);
	assert_true(r.id > 0 && r.at > 0);
	assert_int_equal(reject_next(t->db, 0, &got), 0);
	assert_int_equal(got.id, r.id);
	assert_int_equal(got.at, r.at);
	assert_string_equal(got.path, "p/x");
	assert_string_equal(got.held_path, "p");
	assert_string_equal(got.held_by, "b");
	assert_string_equal(got.owner, "a");
	assert_string_equal(got.op, "k");
	assert_string_equal(got.session, "ab");
	assert_string_equal(got.stage, "commit");
	assert_string_equal(got.why, "ESTALE");
	assert_int_equal(got.token, 4);
	assert_int_equal(got.highest, 5);
	assert_int_equal(got.uid, 1000);
	assert_true(got.has_blob);
	assert_int_equal(got.blob.b[0], 3);
	assert_int_equal(got.size, 77);
	assert_int_equal(reject_next(t->db, r.id, &got), -ENOENT);
	assert_int_equal(reject_get(t->db, r.id, &got), 0);
	assert_int_equal(reject_get(t->db, r.id + 1, &got), -ENOENT);
	assert_int_equal(reject_by_op(t->db, "p/x", "k", &got), 1);
	assert_int_equal(reject_by_op(t->db, "p", "k", &got), 0);
	assert_int_equal(reject_by_op(t->db, "p/x", "no", &got), 0);
	/* By the path that its session had claimed, too. */
	assert_int_equal(session_row_add(t->db, &session), 0);
	assert_int_equal(reject_by_op(t->db, "p", "k", &got), 1);
}

static void bounds_refusals(void **state)
{
	struct scratch *t = *state;
	struct reject with = sample(), without = sample();

	assert_int_equal(reject_add(t->db, &with), 0);
	without.has_blob = false;
	for (int i = 0; i < 10500; i++)
		assert_int_equal(reject_add(t->db, &without), 0);
	assert_in_range(count(t, "SELECT count(*) FROM reject"), 10001, 10101);
	assert_int_equal(reject_get(t->db, with.id, &with), 0);
	assert_int_equal(reject_get(t->db, without.id, &without), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in(scratch_txn, keeps_settings),
		test_in(scratch_txn, begins_at_revision_zero),
		test_in(scratch_txn, follows_sessions),
		test_in(scratch_txn, bounds_sessions),
		test_in(scratch_txn, records_refusals),
		test_in(scratch_txn, bounds_refusals),
	};

	return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
