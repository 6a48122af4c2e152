/* SPDX-License-Identifier: MIT */
/* gc of an open store: what is marked, what is removed, what is looked at again just before. */
#include "scratch.h"

#include "store/blob/blob_set.h"
#include "store/sqlite/db.h"
#include "store/gc/gc.h"
#include "store/generation.h"
#include "store/blob/quota.h"
#include "store/sqlite/setting.h"
#include "store/sqlite/txn.h"
#include "store/gc/policy.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void blob_set(void **state)
{
	struct blob_set set = { 0 };
	struct blob_id id[500];
	unsigned int seed = 7, count[500] = { 0 };

	(void)state;
	for (int i = 0; i < 500; i++) {
		assert_int_equal(blob_id_new(&id[i]), 0);
		/* Half of them in one run of slots. */
		if (i % 2)
			memset(id[i].b, 0, 8);
	}
	for (int round = 0; round < 100000; round++) {
		int i = rand_r(&seed) % 500;

		if (rand_r(&seed) % 2) {
			assert_int_equal(blob_set_add(&set, &id[i]), 0);
			count[i]++;
		} else {
			blob_set_drop(&set, &id[i]);
			count[i] -= count[i] > 0;
		}
		i = rand_r(&seed) % 500;
		assert_int_equal(blob_set_has(&set, &id[i]), count[i] > 0);
	}
	blob_set_fini(&set);
	blob_set_drop(&set, &id[0]);
	assert_false(blob_set_has(&set, &id[0]));
}

/* ------------------------------------------------------------------------------------- a pass */

struct pass {
	struct scratch *t;
	const struct blob_id *pinned; /* NULL: none */
	void (*before_sweep)(struct scratch *t);
	int writes;
};

static int write_here(void *arg, gc_write_fn fn, void *fn_arg)
{
	struct pass *p = arg;
	int err;

	assert_int_equal(txn_begin(p->t->db), 0);
	err = fn(p->t->db, fn_arg);
	/* Once undone, and run again, as after a full disk. */
	if (!err && ++p->writes % 2) {
		txn_rollback(p->t->db);
		assert_int_equal(txn_begin(p->t->db), 0);
		err = fn(p->t->db, fn_arg);
	}
	if (err)
		txn_rollback(p->t->db);
	return err ? err : txn_commit(p->t->db);
}

static bool is_pinned(void *arg, const struct blob_id *id)
{
	struct pass *p = arg;

	return p->pinned && memcmp(p->pinned, id, sizeof(*id)) == 0;
}

static void progress(void *arg, const struct gc_progress *g)
{
	struct pass *p = arg;
	void (*act)(struct scratch * t) = p->before_sweep;

	if (g->stage != GC_SWEEP || !act)
		return;
	p->before_sweep = NULL;
	act(p->t);
}

static void checkpoint(void *arg)
{
	(void)arg;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static int run(struct pass *p, const struct gc_options *opt, struct gc_report *out)
{
	struct gc_env env = {
		.arg = p,
		.write = write_here,
		.is_pinned = is_pinned,
		.checkpoint = checkpoint,
		.progress = progress,
		.should_stop = never,
	};

	return gc_run(p->t->s, &env, opt, out, NULL);
}

static const struct gc_options now = { .grace = 0 };

static struct blob_id id_of(int n)
{
	return (struct blob_id){ { (uint8_t)(n * 37), (uint8_t)n } };
}

static void add_blob(struct scratch *t, int n)
{
	struct blob_id id = id_of(n);
	struct blob_hash hash = { { 1 } };

	assert_int_equal(blob_insert(t->db, &id, 3, &hash, "abc"), 0);
}

static void add_file(struct scratch *t, const struct blob_id *id)
{
	auto_fd int fd = -1;

	assert_int_equal(staging_create(t->s, id, &fd), 0);
	assert_int_equal(io_write_all(fd, "12345", 5), 0);
	assert_int_equal(blob_move_in(t->s, id), 0);
}

static int64_t publish(struct scratch *t, const char *name, int n)
{
	struct change c = FILE_AT(1, name, name);

	c.has_blob = true;
	c.blob = id_of(n);
	c.size = 3;
	return scratch_commit_ok(t, 1, &c, 1);
}

static bool has(struct scratch *t, int n)
{
	struct blob_id id = id_of(n);
	struct blob_info info;

	return blob_get(t->db, &id, false, &info) == 0;
}

/* Blobs 1 and 2 are versions of "a", 3 is nobody's. */
static void fill(struct scratch *t)
{
	assert_int_equal(txn_begin(t->db), 0);
	for (int n = 1; n <= 3; n++)
		add_blob(t, n);
	publish(t, "a", 1);
	publish(t, "a", 2);
	assert_int_equal(txn_commit(t->db), 0);
}

static void unreferenced_goes(void **state)
{
	struct scratch *t = *state;
	struct pass p = { .t = t };
	struct gc_options later = { .grace = GC_GRACE_DEFAULT };
	struct gc_report r;

	fill(t);
	assert_int_equal(run(&p, &later, &r), 0);
	assert_int_equal(r.waiting.n, 1);
	assert_int_equal(r.waiting.bytes, 3);
	assert_true(has(t, 3));
	assert_int_equal(run(&p, &now, &r), 0);
	assert_int_equal(r.removed[GARBAGE_CRASHED].n, 1);
	assert_int_equal(r.blobs, 3);
	assert_int_equal(r.entries, 3);
	assert_true(has(t, 1) && has(t, 2) && !has(t, 3));
}

static void pinned_stays(void **state)
{
	struct scratch *t = *state;
	struct blob_id id = id_of(3);
	struct pass p = { .t = t, .pinned = &id };
	struct gc_report r;

	fill(t);
	assert_int_equal(run(&p, &now, &r), 0);
	assert_int_equal(r.pinned, 1);
	assert_true(has(t, 3));
}

static void pin_after_mark(void **state)
{
	struct scratch *t = *state;
	struct blob_id id = id_of(3);
	struct pass p = { .t = t };
	struct gc_report r;

	fill(t);
	assert_int_equal(run(&p, &(struct gc_options){ .grace = INT64_MAX }, &r), 0);
	p.pinned = &id;
	assert_int_equal(run(&p, &now, &r), 0);
	assert_true(has(t, 3));
	assert_int_equal(r.pinned, 1);
}

static void publish_three(struct scratch *t)
{
	assert_int_equal(txn_begin(t->db), 0);
	publish(t, "b", 3);
	assert_int_equal(txn_commit(t->db), 0);
}

static void published_between_mark_and_sweep(void **state)
{
	struct scratch *t = *state;
	struct pass p = { .t = t, .before_sweep = publish_three };
	struct gc_report r;

	fill(t);
	assert_int_equal(run(&p, &now, &r), 0);
	assert_null(p.before_sweep);
	assert_true(has(t, 3));
}

/* Even if its mark were still there. */
static void remark_three(struct scratch *t)
{
	struct blob_id id = id_of(3);

	publish_three(t);
	assert_int_equal(txn_begin(t->db), 0);
	assert_int_equal(garbage_mark(t->db, &id, 1), 0);
	assert_int_equal(txn_commit(t->db), 0);
}

static void newer_entry_counts(void **state)
{
	struct scratch *t = *state;
	struct pass p = { .t = t, .before_sweep = remark_three };
	struct gc_report r;

	fill(t);
	assert_int_equal(run(&p, &now, &r), 0);
	assert_true(has(t, 3));
	assert_int_equal(r.pinned, 1);
}

static void file_of_a_crash(void **state)
{
	struct scratch *t = *state;
	struct blob_id id = id_of(9);
	struct pass p = { .t = t };
	struct gc_report r;
	int64_t size;

	fill(t);
	add_file(t, &id);
	assert_int_equal(run(&p, &(struct gc_options){ .dry_run = true }, &r), 0);
	assert_int_equal(r.removed[GARBAGE_CRASHED].n, 2);
	assert_int_equal(r.removed[GARBAGE_CRASHED].bytes, 3 + 5);
	assert_int_equal(blob_file_size(t->s, &id, &size), 0);
	assert_int_equal(run(&p, &now, &r), 0);
	assert_int_equal(r.removed[GARBAGE_CRASHED].bytes, 3 + 5);
	assert_int_equal(blob_file_size(t->s, &id, &size), -ENOENT);
}

static void prune(void **state)
{
	struct scratch *t = *state;
	struct pass p = { .t = t };
	struct gc_options opt = { .keep.count = { [RETAIN_LAST] = 1 } };
	struct gc_report r;

	fill(t);
	opt.dry_run = true;
	assert_int_equal(run(&p, &opt, &r), 0);
	assert_int_equal(r.versions.n, 1);
	assert_int_equal(r.removed[GARBAGE_PRUNED].n, 2); /* which of them, it does not know yet */
	assert_true(has(t, 1) && has(t, 3));
	opt.dry_run = false;
	assert_int_equal(run(&p, &opt, &r), 0);
	assert_int_equal(r.versions.n, 1);
	assert_true(!has(t, 1) && has(t, 2) && !has(t, 3));
	assert_int_equal(run(&p, &opt, &r), 0);
	assert_int_equal(r.versions.n, 0);
}

static void dangling_reference(void **state)
{
	struct scratch *t = *state;
	struct pass p = { .t = t };
	struct gc_report r;

	fill(t);
	assert_int_equal(db_exec(t->db, "DELETE FROM blob WHERE n = 1"), 0);
	assert_int_equal(run(&p, &now, &r), -EUCLEAN);
	assert_true(has(t, 3));
}

static void older_database(void **state)
{
	struct scratch *t = *state;
	struct pass p = { .t = t };
	struct gc_options after = { .after_restore = true };
	struct gc_report r;
	int64_t token;

	fill(t);
	assert_int_equal(run(&p, &(struct gc_options){ .grace = INT64_MAX }, &r), 0);
	assert_int_equal(db_exec(t->db, "UPDATE setting SET value = 0 WHERE name = 'generation'"),
			 0);
	assert_int_equal(run(&p, &now, &r), -ECANCELED);
	assert_true(has(t, 3));
	assert_int_equal(run(&p, &after, &r), 0);
	assert_true(r.is_restored);
	assert_false(has(t, 3));
	assert_int_equal(setting_get(t->db, "token", &token), 0);
	assert_true(token >= GENERATION_TOKEN_JUMP);
	assert_int_equal(run(&p, &now, &r), 0);
}

static void quota(void **state)
{
	struct scratch *t = *state;
	struct policy policy = { .max_size = 9 }, found;
	struct pass p = { .t = t };
	struct gc_report r;

	fill(t);
	assert_int_equal(txn_begin(t->db), 0);
	assert_int_equal(quota_check(t->db), 0);
	assert_int_equal(policy_set(t->db, &policy), 0);
	assert_int_equal(policy_get(t->db, &found), 0);
	assert_int_equal(found.max_size, 9);
	assert_int_equal(quota_check(t->db), 0);
	add_blob(t, 4);
	add_blob(t, 4); /* again: nothing is added */
	assert_int_equal(quota_check(t->db), -ENOSPC);
	assert_int_equal(txn_commit(t->db), 0);
	assert_int_equal(run(&p, &now, &r), 0); /* 3 and 4 go */
	assert_int_equal(txn_begin(t->db), 0);
	add_blob(t, 5);
	assert_int_equal(quota_check(t->db), 0);
	policy.max_size = 0;
	assert_int_equal(policy_set(t->db, &policy), 0);
	assert_int_equal(setting_get(t->db, "blob_bytes", &(int64_t){ 0 }), -ENOENT);
	assert_int_equal(txn_commit(t->db), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blob_set),
		test_in(scratch_store, unreferenced_goes),
		test_in(scratch_store, pinned_stays),
		test_in(scratch_store, pin_after_mark),
		test_in(scratch_store, published_between_mark_and_sweep),
		test_in(scratch_store, newer_entry_counts),
		test_in(scratch_store, file_of_a_crash),
		test_in(scratch_store, prune),
		test_in(scratch_store, dangling_reference),
		test_in(scratch_store, older_database),
		test_in(scratch_store, quota),
	};

	return cmocka_run_group_tests_name("gc", tests, NULL, NULL);
}
