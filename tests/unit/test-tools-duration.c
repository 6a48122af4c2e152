/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parse/duration.h"
#include "client/lease_client.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static void times_are_parsed(void **state)
{
	static const struct {
		const char *s;
		int64_t ns;
	} good[] = {
		{ "0", 0 },	     { "5", 5 * S },
		{ "5s", 5 * S },     { "500ms", 500 * MS },
		{ "1m30s", 90 * S }, { "2h", 7200 * S },
		{ "1d", 86400 * S }, { "3650d", 3650 * 86400 * S },
	};
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ns = -1;
		assert_true(duration_parse(good[i].s, &ns));
		assert_int_equal(ns, good[i].ns);
	}
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"s",
		"-1s",
		"+1s",
		" 1s",
		"1s ",
		"1x",
		"1.5s",
		"1m30",
		"3651d",
		"3650d1ms",
		"1S",
		"1s,",
		"99999999999999999999",
		"9223372036854775807s",
	};
	int64_t ns = -1;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(duration_parse(bad[i], &ns));
	assert_int_equal(ns, -1);
}

static void seconds_of_a_reply(void **state)
{
	(void)state;
	assert_int_equal(lease_seconds("30.000"), 30 * S);
	assert_int_equal(lease_seconds("0.001"), MS);
	assert_int_equal(lease_seconds(NULL), 0);
	assert_int_equal(lease_seconds("30"), 0);
	assert_int_equal(lease_seconds("x"), 0);
	assert_int_equal(lease_seconds("30.00"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_parsed),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(seconds_of_a_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
