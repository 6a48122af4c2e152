/* SPDX-License-Identifier: MIT */
/* Fences and leases: claims, what they refuse, resets. Unit test. */
#include "scratch.h"

#include "store/sqlite/db.h"
#include "store/fence/fence.h"
#include "store/sqlite/txn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t highest(struct scratch *t, const char *path)
{
	struct fence_row row;

	assert_int_equal(fence_highest(t->db, path, &row), 0);
	return row.token;
}

static void claim(struct scratch *t, const char *path, int64_t token, int want)
{
	struct refusal r = { .err = 0 };

	assert_int_equal(fence_claim(t->db, path, token, "owner", 7, &r), want);
	assert_int_equal(r.err, -want);
}

static int64_t count_rows(struct scratch *t)
{
	auto_stmt struct stmt *st = NULL;

	assert_int_equal(db_stmt(t->db, "SELECT count(*) FROM fence", &st), 0);
	assert_int_equal(stmt_step(st), 1);
	return stmt_get_int(st, 0);
}

static void shuts_out_lower_tokens(void **state)
{
	struct scratch *t = *state;
	struct refusal r;

	assert_int_equal(highest(t, "reports/x"), -1);
	claim(t, "reports", 42, 0);
	assert_int_equal(highest(t, "reports"), 42);
	assert_int_equal(highest(t, "reports/x/y"), 42);
	assert_int_equal(highest(t, "report"), -1);
	assert_int_equal(highest(t, "reports-2"), -1);
	assert_int_equal(highest(t, "."), -1);
	claim(t, "reports", 41, -ESTALE);
	claim(t, "reports/x", 41, -ESTALE);
	claim(t, "reports/x", 42, 0);
	claim(t, "reports/x", 50, 0);
	claim(t, "reports", 45, 0);
	assert_int_equal(highest(t, "reports/x"), 50);

	assert_int_equal(fence_claim(t->db, "reports/y", 44, "late", 8, &r), -ESTALE);
	assert_int_equal(r.err, ESTALE);
	assert_string_equal(r.path, "reports/y");
	assert_string_equal(r.set_path, "reports");
	assert_string_equal(r.set_by, "owner");
	assert_int_equal(r.token, 44);
	assert_int_equal(r.highest, 45);
	assert_int_equal(r.set_at, 7);
	assert_string_equal(
		r.text, "token 44 is older than 45 on reports (set by owner at 1970-01-01 00:00:00 "
			"UTC); take a new token");
}

static void keeps_the_first_owner_of_a_token(void **state)
{
	struct scratch *t = *state;
	struct fence_row row;
	struct refusal r;

	assert_int_equal(fence_claim(t->db, "p", 5, "a", 1, &r), 0);
	assert_int_equal(fence_claim(t->db, "p", 5, "b", 2, &r), 0);
	assert_int_equal(fence_get(t->db, "p", &row), 0);
	assert_string_equal(row.owner, "a");
	assert_int_equal(row.updated, 1);
	assert_int_equal(fence_claim(t->db, "p", 6, "b", 3, &r), 0);
	assert_int_equal(fence_get(t->db, "p", &row), 0);
	assert_string_equal(row.owner, "b");
	assert_int_equal(fence_claim(t->db, "p", INT64_MAX, "b", 3, &r), 0);
	assert_int_equal(fence_claim(t->db, "p", -1, "b", 3, &r), -ERANGE);
	assert_int_equal(fence_get(t->db, "q", &row), -ENOENT);
}

static void drops_redundant_rows(void **state)
{
	struct scratch *t = *state;
	struct fence_row row;
	struct refusal r;

	claim(t, "a/x", 3, 0);
	claim(t, "a/y", 9, 0);
	claim(t, "a/z", 5, 0);
	claim(t, "a-b", 3, 0);
	claim(t, "a0", 3, 0);
	assert_int_equal(fence_advance_seq(t->db, "a/z", 5, 1, &r), 0);
	assert_int_equal(db_exec(t->db,
				 "INSERT INTO fence VALUES('x', 1, -1, 0, '', NULL, NULL, NULL)"),
			 -EEXIST);
	assert_int_equal(
		db_exec(t->db,
			"INSERT INTO fence VALUES(CAST('a/l' AS BLOB), 1, -1, 0, '', 'l', 1, 1)"),
		0);
	claim(t, "a", 5, 0);
	assert_int_equal(fence_get(t->db, "a/x", &row), -ENOENT);
	assert_int_equal(fence_get(t->db, "a/y", &row), 0);
	assert_int_equal(fence_get(t->db, "a/z", &row), 0); /* its seq still counts */
	assert_int_equal(fence_get(t->db, "a/l", &row), 0); /* a lease */
	assert_int_equal(fence_get(t->db, "a-b", &row), 0);
	assert_int_equal(fence_get(t->db, "a0", &row), 0);
	claim(t, "a", 6, 0);
	assert_int_equal(fence_get(t->db, "a/z", &row), -ENOENT);
	claim(t, ".", 6, 0);
	assert_int_equal(fence_get(t->db, "a", &row), -ENOENT);
	assert_int_equal(fence_get(t->db, ".", &row), 0);
	assert_int_equal(highest(t, "a/y"), 9);
}

static void drops_a_thousand_at_most(void **state)
{
	struct scratch *t = *state;
	char path[32];

	for (int i = 0; i < 1500; i++) {
		snprintf(path, sizeof(path), "d/%d", i);
		claim(t, path, 1, 0);
	}
	claim(t, "d", 2, 0);
	assert_int_equal(count_rows(t), 501);
	claim(t, "d", 2, 0);
	assert_int_equal(count_rows(t), 1);
}

static void orders_by_seq(void **state)
{
	struct scratch *t = *state;
	struct fence_row row;
	struct refusal r;

	assert_int_equal(fence_advance_seq(t->db, "p", 5, 1, &r), -ENOENT);
	claim(t, "p", 5, 0);
	assert_int_equal(fence_advance_seq(t->db, "p", 5, 3, &r), 0);
	assert_int_equal(fence_advance_seq(t->db, "p", 5, 3, &r), -ESTALE);
	assert_string_equal(r.text,
			    "seq 3 under token 5 is not newer than seq 3 under token 5, the "
			    "last one accepted on p");
	assert_int_equal(fence_advance_seq(t->db, "p", 5, 2, &r), -ESTALE);
	assert_int_equal(fence_advance_seq(t->db, "p", 4, 9, &r), -ESTALE);
	claim(t, "p", 5, 0);
	assert_int_equal(fence_get(t->db, "p", &row), 0);
	assert_int_equal(row.seq, 3);
	claim(t, "p", 6, 0);
	assert_int_equal(fence_advance_seq(t->db, "p", 6, 0, &r), 0);
}

static void finds_what_is_beneath(void **state)
{
	struct scratch *t = *state;
	struct fence_row row;

	claim(t, ".", 1, 0);
	claim(t, "a/b", 7, 0);
	claim(t, "a/c", 8, 0);
	claim(t, "b", 9, 0);
	claim(t, "\xff\xff", 10, 0);
	assert_int_equal(fence_beneath(t->db, "a", 6, &row), 1);
	assert_string_equal(row.path, "a/c");
	assert_int_equal(fence_beneath(t->db, "a", 8, &row), 0);
	assert_int_equal(fence_beneath(t->db, "a/c", 0, &row), 0);
	assert_int_equal(fence_beneath(t->db, ".", 9, &row), 1);
	assert_string_equal(row.path, "\xff\xff");
	assert_int_equal(fence_beneath(t->db, ".", 10, &row), 0);
}

static void resets(void **state)
{
	struct scratch *t = *state;
	int64_t old = 0;

	claim(t, "a", 1000, 0);
	claim(t, "a/b", 2000, 0);
	claim(t, "a-b", 2000, 0);
	assert_int_equal(fence_reset(t->db, "a", 5, "root", 9, &old), 0);
	assert_int_equal(old, 1000);
	assert_int_equal(highest(t, "a"), 5);
	assert_int_equal(highest(t, "a/b"), 5);
	assert_int_equal(highest(t, "a-b"), 2000);
	assert_int_equal(fence_reset(t->db, "new", 5, "root", 9, &old), 0);
	assert_int_equal(old, -1);
	assert_int_equal(highest(t, "new/x"), 5);
	assert_int_equal(fence_reset(t->db, ".", 3, "root", 9, &old), 0);
	assert_int_equal(highest(t, "a-b"), 3);
	assert_int_equal(highest(t, "."), 3);
}

/* Every fence ever accepted, never dropped: what highest() must agree with. */
struct model {
	char path[512][24];
	int64_t token[512];
	int n;
};

static bool covers(const char *top, const char *path)
{
	size_t len = strlen(top);

	return strcmp(top, ".") == 0 ||
	       (strncmp(top, path, len) == 0 && (path[len] == '/' || path[len] == '\0'));
}

static int64_t model_highest(const struct model *m, const char *path)
{
	int64_t best = -1;

	for (int i = 0; i < m->n; i++) {
		if (covers(m->path[i], path) && m->token[i] > best)
			best = m->token[i];
	}
	return best;
}

static int64_t model_beneath(const struct model *m, const char *path)
{
	int64_t best = -1;

	for (int i = 0; i < m->n; i++) {
		if (covers(path, m->path[i]) && strcmp(path, m->path[i]) != 0 && m->token[i] > best)
			best = m->token[i];
	}
	return best;
}

static void model_set(struct model *m, const char *path, int64_t token)
{
	strcpy(m->path[m->n], path);
	m->token[m->n++] = token;
}

static void model_reset(struct model *m, const char *path, int64_t token)
{
	int n = 0;

	for (int i = 0; i < m->n; i++) {
		if (strcmp(m->path[i], path) == 0)
			continue;
		if (covers(path, m->path[i]) && m->token[i] > token)
			m->token[i] = token;
		m->token[n] = m->token[i];
		memmove(m->path[n++], m->path[i], sizeof(m->path[i]));
	}
	m->n = n;
	model_set(m, path, token);
}

static void random_path(unsigned int *seed, char *out)
{
	static const char *const names[] = { "a", "b", "a0", "a-", "\xff" };
	int depth = rand_r(seed) % 5;
	int n = 0;

	if (depth == 0) {
		strcpy(out, ".");
		return;
	}
	for (int i = 0; i < depth; i++)
		n += sprintf(out + n, "%s%s", i ? "/" : "", names[rand_r(seed) % 5]);
}

static void check_against(struct scratch *t, const struct model *m, unsigned int *seed)
{
	char path[24];
	struct fence_row row;
	int64_t beneath;

	random_path(seed, path);
	assert_int_equal(highest(t, path), model_highest(m, path));
	/* Dropped rows are dominated, so only what exceeds highest(path) must be found. */
	beneath = model_beneath(m, path);
	if (beneath > model_highest(m, path)) {
		assert_int_equal(fence_beneath(t->db, path, model_highest(m, path), &row), 1);
		assert_int_equal(row.token, beneath);
	} else {
		assert_int_equal(fence_beneath(t->db, path, model_highest(m, path), &row), 0);
	}
}

static void agrees_with_brute_force(void **state)
{
	struct scratch *t = *state;

	for (unsigned int round = 0; round < 40; round++) {
		struct model m = { .n = 0 };
		unsigned int seed = round;

		assert_int_equal(db_exec(t->db, "DELETE FROM fence"), 0);
		for (int i = 0; i < 400; i++) {
			int64_t token = rand_r(&seed) % 60, old;
			char path[24];
			struct refusal r;

			random_path(&seed, path);
			if (rand_r(&seed) % 25 == 0) {
				assert_int_equal(fence_reset(t->db, path, token, "r", 1, &old), 0);
				assert_int_equal(old, model_highest(&m, path));
				model_reset(&m, path, token);
			} else if (token < model_highest(&m, path)) {
				assert_int_equal(fence_claim(t->db, path, token, "o", 1, &r),
						 -ESTALE);
				assert_int_equal(r.highest, model_highest(&m, path));
			} else {
				assert_int_equal(fence_claim(t->db, path, token, "o", 1, &r), 0);
				model_set(&m, path, token);
			}
			check_against(t, &m, &seed);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in(scratch_txn, shuts_out_lower_tokens),
		test_in(scratch_txn, keeps_the_first_owner_of_a_token),
		test_in(scratch_txn, drops_redundant_rows),
		test_in(scratch_txn, drops_a_thousand_at_most),
		test_in(scratch_txn, orders_by_seq),
		test_in(scratch_txn, finds_what_is_beneath),
		test_in(scratch_txn, resets),
		test_in(scratch_txn, agrees_with_brute_force),
	};

	return cmocka_run_group_tests_name("fence", tests, NULL, NULL);
}
