/* SPDX-License-Identifier: MIT */
/* Sizes as people write them. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parse/size.h"

static void sizes_are_parsed(void **state)
{
	static const struct {
		const char *s;
		int64_t bytes;
	} good[] = {
		{ "1", 1 },
		{ "4096", 4096 },
		{ "400k", 400 << 10 },
		{ "400K", 400 << 10 },
		{ "50M", 50 << 20 },
		{ "50m", 50 << 20 },
		{ "1G", 1 << 30 },
		{ "2t", INT64_C(2) << 40 },
		{ "8388607T", INT64_C(8388607) << 40 },
	};
	int64_t bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		bytes = -1;
		assert_true(size_parse(good[i].s, &bytes));
		assert_int_equal(bytes, good[i].bytes);
	}
}

static void what_is_no_size_is_refused(void **state)
{
	static const char *const bad[] = {
		"",	"0",   "0K",  "-1", "+1",	"K",
		"1.5M", "1MB", "1 M", "1P", "8388608T", "9999999999999999999",
	};
	int64_t bytes = -1;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(size_parse(bad[i], &bytes));
	assert_int_equal(bytes, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_parsed),
		cmocka_unit_test(what_is_no_size_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
