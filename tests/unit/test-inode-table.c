/* SPDX-License-Identifier: MIT */
/* The inodes that the kernel knows: what finds one, and when it ends. */
#include "fuse/state/inode_table.h"
#include "fuse/state/inode_type.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MANY 5000 /* more than the first buckets */

static const struct inode_type root_type = { .kind = ENTRY_DIR };
static const struct inode_type keyed = { .kind = ENTRY_FILE };
static const struct inode_type other = { .kind = ENTRY_FILE };
static const struct inode_type fresh = { .kind = ENTRY_FILE, .is_fresh = true };

static int setup(void **state)
{
	return inode_table_new(NULL, &root_type, (struct inode_table **)state);
}

static int teardown(void **state)
{
	inode_table_free(*state);
	return 0;
}

static uint64_t learn(struct inode_table *t, const struct inode_type *type, int64_t id)
{
	uint64_t nodeid;

	assert_int_equal(inode_learn(t, NULL, type, id, &nodeid), 0);
	return nodeid;
}

static bool is_known(struct inode_table *t, uint64_t nodeid)
{
	struct inode *inode = inode_get(t, nodeid);

	if (inode)
		inode_put(inode);
	return inode;
}

static void test_one_inode_for_one_object(void **state)
{
	uint64_t first = learn(*state, &keyed, 7);

	assert_true(first >= NODEID_FIRST);
	assert_int_equal(learn(*state, &keyed, 7), first);
	assert_int_not_equal(learn(*state, &keyed, 8), first);
	assert_int_not_equal(learn(*state, &other, 7), first);
	assert_int_equal(inode_find(*state, NULL, &keyed, 7), first);
	assert_int_equal(inode_find(*state, NULL, &keyed, 9), 0);
}

static void test_lookups_keep_it(void **state)
{
	uint64_t first = learn(*state, &keyed, 7);

	learn(*state, &keyed, 7);
	inode_forget(*state, first, 1);
	assert_true(is_known(*state, first));
	inode_forget(*state, first, 1);
	assert_false(is_known(*state, first));
	assert_int_not_equal(learn(*state, &keyed, 7), first);
}

static void test_references_keep_it(void **state)
{
	uint64_t nodeid = learn(*state, &keyed, 7);
	struct inode *inode = inode_get(*state, nodeid);

	inode_forget(*state, nodeid, 1);
	assert_true(is_known(*state, nodeid));
	assert_int_equal(learn(*state, &keyed, 7), nodeid);
	inode_put(inode);
	assert_true(is_known(*state, nodeid));
	inode_forget(*state, nodeid, 1);
	assert_false(is_known(*state, nodeid));
}

/* More lookups taken back than there were would be the kernel's bug. */
static void test_forgotten_too_often(void **state)
{
	uint64_t nodeid = learn(*state, &keyed, 7);

	inode_forget(*state, nodeid, 100);
	assert_false(is_known(*state, nodeid));
	inode_forget(*state, nodeid, 1);
}

static void test_fresh_ones_differ(void **state)
{
	uint64_t one, two;

	assert_int_equal(inode_learn_fresh(*state, &fresh, &one), 0);
	assert_int_equal(inode_learn_fresh(*state, &fresh, &two), 0);
	assert_int_not_equal(one, two);
	assert_int_equal(inode_count(*state), 3);
	inode_forget(*state, one, 1);
	assert_false(is_known(*state, one));
	assert_true(is_known(*state, two));
}

static void test_fixed_ones_stay(void **state)
{
	assert_false(is_known(*state, 2));
	inode_table_fix(*state, 2, &root_type);
	assert_true(is_known(*state, 2));
	inode_forget(*state, 2, 1);
	assert_true(is_known(*state, 2));
	assert_false(is_known(*state, 0));
	assert_false(is_known(*state, 3));
	assert_false(is_known(*state, NODEID_FIXED_MAX));
}

static void test_the_root_stays(void **state)
{
	inode_forget(*state, NODEID_ROOT, 1);
	assert_true(is_known(*state, NODEID_ROOT));
}

static void test_many(void **state)
{
	static uint64_t nodeids[MANY];

	for (int i = 0; i < MANY; i++)
		nodeids[i] = learn(*state, &keyed, i);
	assert_int_equal(inode_count(*state), MANY + 1);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(inode_find(*state, NULL, &keyed, i), nodeids[i]);
	for (int i = 0; i < MANY; i += 2)
		inode_forget(*state, nodeids[i], 1);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(is_known(*state, nodeids[i]), i % 2);
	assert_int_equal(inode_count(*state), MANY / 2 + 1);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_one_inode_for_one_object), CASE(test_lookups_keep_it),
		CASE(test_references_keep_it),	     CASE(test_forgotten_too_often),
		CASE(test_fresh_ones_differ),	     CASE(test_fixed_ones_stay),
		CASE(test_the_root_stays),	     CASE(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
