/* SPDX-License-Identifier: MIT */
/* Names, times and sizes for people. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "out/display.h"

#include <stdlib.h>
#include <time.h>

static void check_name(const char *s, const char *want)
{
	auto_buf struct buf out = { 0 };

	display_name(&out, s);
	assert_string_equal(buf_text(&out), want);
}

static void names_cannot_forge_lines(void **state)
{
	(void)state;
	check_name("plain \xc3\xa9", "plain \xc3\xa9");
	check_name("a\nb\tc\rd\\e", "a\\nb\\tc\\rd\\\\e");
	check_name("\x1b[31m", "\\x1b[31m");
	check_name("\xff\xc3", "\\xff\\xc3");
	check_name("\xc2\x9b", "\\u009b"); /* a C1 control: CSI */
	check_name("\xe2\x80\xae"
		   "txt",
		   "\\u202etxt"); /* right-to-left override */
	check_name("", "");
}

static void times_have_their_zone(void **state)
{
	auto_buf struct buf local = { 0 }, utc = { 0 }, odd = { 0 };

	(void)state;
	setenv("TZ", "XYZ-1", 1);
	tzset();
	display_time(&local, "1764500523.123456789");
	assert_string_equal(local.s, "2025-11-30 12:02:03 +0100");
	display_utc(&utc, "1764500523.123456789");
	assert_string_equal(utc.s, "2025-11-30T11:02:03.123456789Z");
	display_utc(&odd, "12.5.");
	display_utc(&odd, "soon");
	assert_string_equal(odd.s, "12.5.soon");
}

static void check_size(uint64_t bytes, const char *want)
{
	auto_buf struct buf out = { 0 };

	display_size(&out, bytes);
	assert_string_equal(out.s, want);
}

static void sizes_are_rounded(void **state)
{
	(void)state;
	check_size(0, "0");
	check_size(1023, "1023");
	check_size(1024, "1.0 KiB");
	check_size(12 * 1024, "12 KiB");
	check_size(1536 * 1024, "1.5 MiB");
	check_size(UINT64_MAX, "16 EiB");
}

static void width_counts_characters(void **state)
{
	(void)state;
	assert_int_equal(display_width("a\xc3\xa9z"), 3);
	assert_int_equal(display_width(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_cannot_forge_lines),
		cmocka_unit_test(times_have_their_zone),
		cmocka_unit_test(sizes_are_rounded),
		cmocka_unit_test(width_counts_characters),
	};

	return cmocka_run_group_tests_name("display", tests, NULL, NULL);
}
