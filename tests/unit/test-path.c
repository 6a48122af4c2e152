/* SPDX-License-Identifier: MIT */
/* Paths of the protocol. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/path.h"

#include <errno.h>
#include <string.h>

static void normalises(void **state)
{
	static const struct {
		const char *in, *out;
		bool dir;
	} cases[] = {
		{ ".", ".", false },
		{ "/", ".", true },
		{ "./", ".", true },
		{ "a", "a", false },
		{ "a/", "a", true },
		{ "/a//b/./c//", "a/b/c", true },
		{ "./a/.", "a", false },
		{ "...", "...", false },
		{ "a/.fence", "a/.fence", false },
		{ ".fenceX", ".fenceX", false },
		{ "..a/b..", "..a/b..", false },
		{ "\xff\n \t", "\xff\n \t", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[FENCE_PATH_MAX + 1];
		bool dir = !cases[i].dir;

		assert_int_equal(path_normalise(cases[i].in, out, &dir), 0);
		assert_string_equal(out, cases[i].out);
		assert_int_equal(dir, cases[i].dir);
		assert_int_equal(path_normalise(cases[i].in, out, NULL), 0);
	}
}

static void refuses(void **state)
{
	static const struct {
		const char *in;
		int err;
	} cases[] = {
		{ "", -EINVAL },	{ "..", -EINVAL },
		{ "a/..", -EINVAL },	{ "a/../b", -EINVAL },
		{ ".fence", -EPERM },	{ "/.fence/ctl", -EPERM },
		{ "./.fence", -EPERM }, { "a/.././.fence", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[FENCE_PATH_MAX + 1] = "untouched";
		bool dir = true;

		assert_int_equal(path_normalise(cases[i].in, out, &dir), cases[i].err);
		assert_string_equal(out, "untouched");
		assert_true(dir);
	}
}

static void has_limits(void **state)
{
	char in[2 * FENCE_PATH_MAX + 2], out[FENCE_PATH_MAX + 1];

	(void)state;
	memset(in, 'x', sizeof(in));
	in[FENCE_NAME_MAX] = '\0';
	assert_int_equal(path_normalise(in, out, NULL), 0);
	in[FENCE_NAME_MAX] = 'x';
	in[FENCE_NAME_MAX + 1] = '\0';
	assert_int_equal(path_normalise(in, out, NULL), -ENAMETOOLONG);

	/* 2048 names of one byte: 4095 bytes. One more byte fits, one more name does not. */
	for (size_t i = 0; i < FENCE_PATH_MAX; i++)
		in[i] = i % 2 ? '/' : 'x';
	in[FENCE_PATH_MAX - 1] = 'x';
	in[FENCE_PATH_MAX] = '\0';
	assert_int_equal(path_normalise(in, out, NULL), 0);
	assert_int_equal(strlen(out), FENCE_PATH_MAX);
	in[FENCE_PATH_MAX] = 'x';
	in[FENCE_PATH_MAX + 1] = '\0';
	assert_int_equal(path_normalise(in, out, NULL), -ENAMETOOLONG);
	/* Only what is left counts. */
	memset(in, '/', sizeof(in));
	in[sizeof(in) - 2] = 'x';
	in[sizeof(in) - 1] = '\0';
	assert_int_equal(path_normalise(in, out, NULL), 0);
	assert_string_equal(out, "x");
}

static void knows_within(void **state)
{
	(void)state;
	assert_true(path_is_within("a", "a"));
	assert_true(path_is_within("a/b", "a"));
	assert_true(path_is_within("a", "."));
	assert_true(path_is_within(".", "."));
	assert_false(path_is_within(".", "a"));
	assert_false(path_is_within("ab", "a"));
	assert_false(path_is_within("a", "a/b"));
	assert_true(path_is_beneath("a/b", "a"));
	assert_true(path_is_beneath("a", "."));
	assert_false(path_is_beneath("a", "a"));
	assert_false(path_is_beneath(".", "."));
	assert_false(path_is_beneath("a-b/c", "a"));
	assert_true(path_is_beneath("..x", "."));
}

static void splits_and_joins(void **state)
{
	char parent[FENCE_PATH_MAX + 1], out[FENCE_PATH_MAX + 1], name[FENCE_NAME_MAX + 2];

	(void)state;
	assert_null(path_split(".", parent));
	assert_string_equal(path_split("a", parent), "a");
	assert_string_equal(parent, ".");
	assert_string_equal(path_split("a/b/c", parent), "c");
	assert_string_equal(parent, "a/b");
	assert_int_equal(path_join(".", "a", out), 0);
	assert_string_equal(out, "a");
	assert_int_equal(path_join("a/b", "c", out), 0);
	assert_string_equal(out, "a/b/c");
	memset(name, 'n', sizeof(name));
	name[FENCE_NAME_MAX + 1] = '\0';
	assert_int_equal(path_join(".", name, out), -ENAMETOOLONG);
	memset(parent, 'p', sizeof(parent));
	parent[FENCE_PATH_MAX - 2] = '\0';
	assert_int_equal(path_join(parent, "c", out), 0);
	assert_int_equal(strlen(out), FENCE_PATH_MAX);
	assert_int_equal(path_join(parent, "cd", out), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normalises),	    cmocka_unit_test(refuses),
		cmocka_unit_test(has_limits),	    cmocka_unit_test(knows_within),
		cmocka_unit_test(splits_and_joins),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
