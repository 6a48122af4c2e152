/* SPDX-License-Identifier: MIT */
/* See scratch.h. */
#include "scratch.h"

#include "store/sqlite/db_conn.h"
#include "store/tree/entry.h"
#include "store/sqlite/txn.h"
#include "store/store_create.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int scratch_dir(void **state)
{
	const char *tmp = getenv("TMPDIR");
	struct scratch *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	snprintf(t->dir, sizeof(t->dir), "%s/fence-unit-XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	assert_non_null(mkdtemp(t->dir));
	snprintf(t->store, sizeof(t->store), "%s/store", t->dir);
	*state = t;
	return 0;
}

static void open_store(struct scratch *t)
{
	struct errmsg err = { "" };

	if (store_open(t->store, STORE_SERVE, NULL, &t->s, &err) != 0)
		fail_msg("store_open: %s", err.s);
	t->db = store_writer(t->s);
}

int scratch_store(void **state)
{
	struct errmsg err = { "" };
	struct scratch *t;

	scratch_dir(state);
	t = *state;
	if (store_create(t->store, &err) != 0)
		fail_msg("store_create: %s", err.s);
	open_store(t);
	return 0;
}

int scratch_txn(void **state)
{
	scratch_store(state);
	return txn_begin(((struct scratch *)*state)->db);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/*
 * Tests count rows; a daemon that starts goes through the sessions, and one in a hundred refusals
 * through those without content: both are bounded.
 */
static bool may_scan(const char *sql)
{
	return strstr(sql, "count(*)") || strstr(sql, "sum(size)") ||
	       strncmp(sql, "DELETE FROM reject WHERE blob IS NULL", 37) == 0 ||
	       strncmp(sql, "EXPLAIN", 7) == 0 ||
	       strncmp(sql, "UPDATE session SET outcome = ?1 WHERE outcome", 45) == 0;
}

static bool is_scan(const char *detail)
{
	static const char *const tables[] = {
		"entry",  "fence",   "blob",	"revision", "session",
		"reject", "garbage", "dirtime", "xattr",    "setting"
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		size_t len = strlen(tables[i]);

		if (strncmp(detail, "SCAN ", 5) == 0 && strncmp(detail + 5, tables[i], len) == 0 &&
		    (detail[5 + len] == ' ' || detail[5 + len] == '\0'))
			return true;
	}
	return false;
}

static void check_plan(sqlite3 *sq, const char *sql)
{
	char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
	sqlite3_stmt *st = NULL;

	assert_int_equal(sqlite3_prepare_v2(sq, explain, -1, &st, NULL), SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const char *detail = (const char *)sqlite3_column_text(st, 3);

		if (is_scan(detail))
			fail_msg("%s: %s", sql, detail);
	}
	sqlite3_finalize(st);
	sqlite3_free(explain);
}

static void check_plans(struct db *db)
{
	sqlite3_stmt *st = NULL;

	while ((st = sqlite3_next_stmt(db->sq, st))) {
		if (!may_scan(sqlite3_sql(st)))
			check_plan(db->sq, sqlite3_sql(st));
	}
}

int scratch_remove(void **state)
{
	struct scratch *t = *state;

	if (t->s && store_writer(t->s))
		check_plans(t->db);
	if (t->db && t->db->in_txn)
		txn_rollback(t->db);
	store_close(t->s);
	nftw(t->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(t);
	return 0;
}

void scratch_reopen(struct scratch *t)
{
	if (t->s)
		store_close(t->s);
	open_store(t);
}

int scratch_commit(struct scratch *t, int64_t token, const struct change *changes, size_t n,
		   struct commit_result *out)
{
	struct commit_request req = {
		.changes = changes,
		.n_changes = n,
		.path = ".",
		.token = token,
		.owner = "tester",
		.seq = -1,
		.now_ns = 1000,
	};
	int err;

	assert_int_equal(txn_savepoint(t->db), 0);
	err = change_commit(t->db, &req, out);
	assert_int_equal(err ? txn_rollback_to(t->db) : txn_release(t->db), 0);
	return err;
}

int64_t scratch_commit_ok(struct scratch *t, int64_t token, const struct change *changes, size_t n)
{
	struct commit_result out;
	int err = scratch_commit(t, token, changes, n, &out);

	if (err)
		fail_msg("commit: %d %s", err, out.refusal.text);
	return out.revision;
}

int64_t scratch_dir_id(struct scratch *t, const char *path)
{
	struct entry e;

	assert_int_equal(entry_resolve(t->db, path, ENTRY_NOW, &e), 0);
	assert_int_equal(e.kind, ENTRY_DIR);
	return e.child;
}
