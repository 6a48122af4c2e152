/* SPDX-License-Identifier: MIT */
/* Points in time as people write them. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parse/when.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define SECOND INT64_C(1000000000)
#define NOW    (INT64_C(1796042400) * SECOND) /* 2026-11-30T12:40:00Z */

static void check(const char *s, int64_t want)
{
	int64_t got = -1;

	assert_int_equal(when_parse(s, NOW, &got), 0);
	assert_int_equal(got, want);
}

static void check_bad(const char *s)
{
	int64_t got = 7;
	int err = when_parse(s, NOW, &got);

	assert_true(err == -EINVAL || err == -ERANGE);
}

static void seconds_since_1970(void **state)
{
	(void)state;
	check("0", 0);
	check("1", SECOND);
	check("1.5", 3 * SECOND / 2);
	check("1796042400.000000001", NOW + 1);
	check("now", NOW);
	check_bad("1.");
	check_bad("-1");
	check_bad("99999999999999999999");
	check_bad("9999999999999");
}

static void times_ago(void **state)
{
	(void)state;
	check("10m ago", NOW - 600 * SECOND);
	check("10m", NOW - 600 * SECOND);
	check("1h30m ago", NOW - 5400 * SECOND);
	check("1h 30m ago", NOW - 5400 * SECOND);
	check("0.5s ago", NOW - SECOND / 2);
	check("1w2d", NOW - INT64_C(9) * 86400 * SECOND);
	check_bad("10x ago");
	check_bad("m ago");
	check_bad("10m agone");
	check_bad("10m ago ");
	check_bad("1000000h");
}

static void dates(void **state)
{
	(void)state;
	check("2026-11-30T12:40:00Z", NOW);
	check("2026-11-30t12:40z", NOW);
	check("2026-11-30 12:40:00.25Z", NOW + SECOND / 4);
	check("2026-11-30T13:40:00+01:00", NOW);
	check("2026-11-30 11:10 -0130", NOW);
	check("2024-02-29T00:00:00Z", INT64_C(1709164800) * SECOND);
	check_bad("2026-11-30T");
	check_bad("2026-11-30T12");
	check_bad("2026-00-30");
	check_bad("2026-11-30T24:00Z");
	check_bad("2026-11-31");
	check_bad("2026-02-29T10:00Z");
	check_bad("26-11-30");
	check_bad("2026-11-30T12:40:00+1");
	check_bad("yesterday");
	check_bad("");
}

static void local_time(void **state)
{
	(void)state;
	setenv("TZ", "XXX+2", 1); /* two hours west */
	tzset();
	check("2026-11-30 10:40", NOW);
	check("10:40", NOW);
	check("2026-11-30", NOW - (INT64_C(10) * 3600 + 2400) * SECOND);
	setenv("TZ", "UTC", 1);
	tzset();
	check("12:40:30", NOW + 30 * SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_since_1970),
		cmocka_unit_test(times_ago),
		cmocka_unit_test(dates),
		cmocka_unit_test(local_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
