/* SPDX-License-Identifier: MIT */
/* The version is that of the build. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/version.h"

static void version_has_three_numbers(void **state)
{
	int dots = 0;
	const char *c;

	(void)state;
	for (c = version(); *c; c++) {
		if (*c == '.')
			dots++;
		else
			assert_in_range(*c, '0', '9');
	}
	assert_int_equal(dots, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_has_three_numbers),
	};

	return cmocka_run_group_tests_name("version", tests, NULL, NULL);
}
