/* SPDX-License-Identifier: MIT */
/* Leases, waiters and claims of a service without a kernel. */
#include "scratch.h"

#include "core/core.h"
#include "core/lease/lease_table.h"
#include "core/publish/claim.h"
#include "core/service/core_impl.h"
#include "store/fence/fence.h"
#include "store/sqlite/txn.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

static const struct caller root = { .uid = 0 };
static const struct caller nobody = { .uid = 65534, .gid = 65534 };

struct service {
	struct scratch *t;
	struct core *c;
};

static struct service start(void **state)
{
	struct service s = { .t = *state };
	struct core_options opt = { .mountpoint = "/nowhere", .features = "" };

	assert_int_equal(core_start(s.t->s, &opt, NULL, &s.c), 0);
	return s;
}

/* The store goes with the service; the fixture's end finds a new one. */
static void stop(struct service *s)
{
	core_shutdown(s->c);
	core_free(s->c);
	s->t->s = NULL;
	scratch_reopen(s->t);
}

struct answer {
	sem_t there;
	int err;
	struct lease_info lease;
};

static void on_answer(void *arg, int err, const struct lease_info *lease)
{
	struct answer *a = arg;

	a->err = err;
	if (lease)
		a->lease = *lease;
	sem_post(&a->there);
}

static void ask(struct service *s, struct answer *a, const char *path, int64_t wait)
{
	struct acquire_args args = { .path = path,
				     .owner = "me",
				     .ttl = INT64_C(60000000000),
				     .wait = wait,
				     .who = &root,
				     .keep = true };

	sem_init(&a->there, 0, 0);
	lease_acquire(s->c, &args, on_answer, a);
}

static int acquire(struct service *s, const char *path, struct answer *a)
{
	ask(s, a, path, 0);
	sem_wait(&a->there);
	return a->err;
}

static int release(struct service *s, const char *path, int64_t token)
{
	struct answer a;

	sem_init(&a.there, 0, 0);
	lease_release(s->c, path, token, "me", false, 0, on_answer, &a);
	sem_wait(&a.there);
	return a.err;
}

static void what_stands_against_what(void **state)
{
	static const struct {
		const char *held, *asked;
		int err;
	} rows[] = {
		{ "a/b", "a/b", -EBUSY }, { "a/b", "a", -EBUSY }, { "a/b", "a/b/c", -EBUSY },
		{ "a/b", ".", -EBUSY },	  { "a/b", "a/c", 0 },	  { "a/b", "a/b-c", 0 },
		{ "a/b", "a/ba", 0 },	  { ".", "x", -EBUSY },	  { "x", "xy/z", 0 },
	};
	struct service s = start(state);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct answer held, asked;

		assert_int_equal(acquire(&s, rows[i].held, &held), 0);
		assert_int_equal(acquire(&s, rows[i].asked, &asked), rows[i].err);
		if (rows[i].err)
			assert_string_equal(asked.lease.path, rows[i].held);
		else
			assert_true(asked.lease.token > held.lease.token);
		if (!rows[i].err)
			assert_int_equal(release(&s, rows[i].asked, asked.lease.token), 0);
		assert_int_equal(release(&s, rows[i].held, held.lease.token), 0);
	}
	stop(&s);
}

static void waiters_come_in_their_turn(void **state)
{
	struct service s = start(state);
	struct answer held, first, second, beside;
	unsigned int live, waiting;

	assert_int_equal(acquire(&s, "a", &held), 0);
	ask(&s, &first, "a/x", INT64_C(60000000000));
	ask(&s, &second, "a", INT64_C(60000000000)); /* stands behind the first */
	assert_int_equal(acquire(&s, "b", &beside), 0);
	lease_counts(s.c, &live, &waiting);
	assert_int_equal(live, 2);
	assert_int_equal(waiting, 2);
	assert_int_equal(release(&s, "a", held.lease.token), 0);
	sem_wait(&first.there);
	assert_int_equal(first.err, 0);
	assert_int_equal(sem_trywait(&second.there), -1);
	assert_int_equal(release(&s, "a/x", first.lease.token), 0);
	sem_wait(&second.there);
	assert_int_equal(second.err, 0);
	assert_true(second.lease.token > first.lease.token);
	stop(&s);
}

static void nobody_waits_for_a_service_that_ends(void **state)
{
	struct service s = start(state);
	struct answer held, waits;

	assert_int_equal(acquire(&s, "a", &held), 0);
	ask(&s, &waits, "a", INT64_C(60000000000));
	stop(&s);
	sem_wait(&waits.there);
	assert_int_equal(waits.err, -ECANCELED);
}

/* Every lease at and beneath the path under a lower token, in whatever order their paths come. */
static void a_claim_ends_leases_beneath(void **state)
{
	static const char *const paths[] = { "p-q", "p/a", "p/b", "p/c/d", "pq" };
	struct service s = start(state);
	struct answer a[5];
	struct lease_info next;
	char left[64] = "";

	for (size_t i = 0; i < 5; i++)
		assert_int_equal(acquire(&s, paths[i], &a[i]), 0);
	/* One beneath holds a token of its own that the claim does not reach. */
	lease_claimed(s.c, "p/b", a[1].lease.token, "other"); /* lower than p/b's: nothing */
	lease_claimed(s.c, "p", a[3].lease.token, "other");
	for (const char *at = ""; lease_next(s.c, at, &next); at = next.path) {
		strcat(left, next.path);
		strcat(left, " ");
	}
	assert_string_equal(left, "p-q p/c/d pq ");
	lease_claimed(s.c, ".", INT64_MAX, "other");
	assert_false(lease_next(s.c, "", &next));
	stop(&s);
}

static int claim_as(struct scratch *t, const struct caller *who, int64_t token, struct refusal *why)
{
	struct claim m = { .path = "d/f",
			   .owner = "o",
			   .token = token,
			   .who = who,
			   .allowed = claim_to_write,
			   .how = "",
			   .why = why };
	int err;

	assert_int_equal(txn_savepoint(t->db), 0);
	err = claim_raise(&m, t->db);
	assert_int_equal(err ? txn_rollback_to(t->db) : txn_release(t->db), 0);
	return err;
}

/* The token is judged before permission, and neither is without the other. */
static void a_claim_is_judged(void **state)
{
	struct scratch *t = *state;
	struct change d = DIR_AT(1, "d", "d", -1);
	struct refusal *why = calloc(1, sizeof(*why));
	struct fence_row row;

	assert_non_null(why);
	d.mode = 0755;
	scratch_commit_ok(t, 1, &d, 1);
	assert_int_equal(claim_as(t, &root, 5, why), 0);
	assert_int_equal(claim_as(t, &nobody, 4, why), -ESTALE);
	assert_int_equal(why->highest, 5);
	assert_int_equal(claim_as(t, &nobody, 6, why), -EACCES);
	assert_int_equal(why->err, EACCES);
	assert_int_equal(claim_as(t, &root, 5, why), 0);
	assert_int_equal(why->err, 0);
	assert_int_equal(fence_highest(t->db, "d/f", &row), 0);
	free(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_in(scratch_store, what_stands_against_what),
		test_in(scratch_store, waiters_come_in_their_turn),
		test_in(scratch_store, nobody_waits_for_a_service_that_ends),
		test_in(scratch_store, a_claim_ends_leases_beneath),
		test_in(scratch_txn, a_claim_is_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
