/* SPDX-License-Identifier: MIT */
/*
 * Linked into every unit test in the place of cmocka's own entry: by itself a program runs all its
 * tests, with FENCE_UNIT_TEST=? it lists them, with FENCE_UNIT_TEST=NAME it runs that one.
 */
#include "scratch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The linker's --wrap gives these names. */
int __real__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n,
				   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n,
				   CMFixtureFunction setup, CMFixtureFunction teardown);

int __wrap__cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n,
				   CMFixtureFunction setup, CMFixtureFunction teardown)
{
	const char *wanted = getenv("FENCE_UNIT_TEST");

	if (wanted && strcmp(wanted, "?") == 0) {
		for (size_t i = 0; i < n; i++)
			puts(tests[i].name);
		return 0;
	}
	if (wanted)
		cmocka_set_test_filter(wanted);
	return __real__cmocka_run_group_tests(group, tests, n, setup, teardown);
}
