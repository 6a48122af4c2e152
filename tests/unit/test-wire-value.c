/* SPDX-License-Identifier: MIT */
/* Values on the wire: time spans, times, numbers, permission bits, words, paths. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/path.h"
#include "wire/ctl_value.h"
#include "wire/duration.h"
#include "wire/number.h"
#include "wire/seconds.h"

#include <errno.h>
#include <string.h>

#define MS (SECOND / 1000)

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void spans_are_parsed(void **state)
{
	static const struct {
		const char *s;
		int64_t ns;
	} good[] = {
		{ "0", 0 },
		{ "5", 5 * SECOND },
		{ "5s", 5 * SECOND },
		{ "500ms", 500 * MS },
		{ "1m30s", 90 * SECOND },
		{ "2h", 7200 * SECOND },
		{ "1d", 86400 * SECOND },
		{ "3650d", 3650 * 86400 * SECOND },
		{ "315360000", 3650 * 86400 * SECOND },
		{ "007s", 7 * SECOND },
		{ "9999999999ms", 9999999999 * MS },
		{ "1s1s", 2 * SECOND },
	};
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		ns = -1;
		assert_int_equal(duration_parse(good[i].s, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
}

static void what_is_no_span_is_refused(void **state)
{
	static const struct {
		const char *s;
		int err;
	} bad[] = {
		{ "", -EINVAL },
		{ "s", -EINVAL },
		{ "-1s", -EINVAL },
		{ "+1s", -EINVAL },
		{ " 1s", -EINVAL },
		{ "1s ", -EINVAL },
		{ "1x", -EINVAL },
		{ "1.5s", -EINVAL },
		{ "1m30", -EINVAL },
		{ "1S", -EINVAL },
		{ "1s,", -EINVAL },
		{ "1min", -EINVAL },
		{ "0x10s", -EINVAL },
		{ "99999999999999999999x", -EINVAL },
		{ "3651d", -ERANGE },
		{ "3650d1ms", -ERANGE },
		{ "315360001", -ERANGE },
		{ "99999999999999999999", -ERANGE },
		{ "99999999999999999999s", -ERANGE },
		{ "9223372036854775807s", -ERANGE },
		{ "18446744073709551616ms", -ERANGE },
	};
	int64_t ns = -1;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(duration_parse(bad[i].s, &ns), bad[i].err);
	assert_int_equal(ns, -1);
}

static void units_may_be_others(void **state)
{
	static const struct duration_unit units[] = { { "w", 7 }, { "min", 1 }, { NULL, 0 } };
	int64_t n = -1;

	(void)state;
	assert_int_equal(duration_sum("2w3min", units, &n), 0);
	assert_int_equal(n, 17);
	assert_int_equal(duration_sum("2", units, &n), -EINVAL);
	assert_int_equal(duration_sum("2m", units, &n), -EINVAL);
	assert_int_equal(duration_sum("", units, &n), -EINVAL);
}

static void seconds_go_there_and_back(void **state)
{
	static const struct {
		const char *s;
		int64_t ns;
	} good[] = {
		{ "0", 0 },
		{ "30.000", 30 * SECOND },
		{ "0.001", MS },
		{ "12.5", 12 * SECOND + SECOND / 2 },
		{ "9223372036.854775807", INT64_MAX },
	};
	static const struct {
		const char *s;
		int err;
	} bad[] = {
		{ "", -EINVAL },
		{ ".5", -EINVAL },
		{ "-1", -EINVAL },
		{ "+1", -EINVAL },
		{ " 1", -EINVAL },
		{ "1 ", -EINVAL },
		{ "x", -EINVAL },
		{ "12.", -EINVAL },
		{ "1.2.3", -EINVAL },
		{ "1e3", -EINVAL },
		{ "1.0000000001", -EINVAL },
		{ "1.-5", -EINVAL },
		{ "99999999999999999999x", -EINVAL },
		{ "9223372036.854775808", -ERANGE },
		{ "9223372037", -ERANGE },
		{ "99999999999999999999", -ERANGE },
	};
	char text[SECONDS_ROOM];
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		assert_int_equal(seconds_parse(good[i].s, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
	ns = -1;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(seconds_parse(bad[i].s, &ns), bad[i].err);
	assert_int_equal(ns, -1);
	seconds_format(text, INT64_MAX, 9);
	assert_string_equal(text, "9223372036.854775807");
	seconds_format(text, 12 * SECOND + 999999999, 3);
	assert_string_equal(text, "12.999");
	seconds_format(text, INT64_MIN, 9);
	assert_true(strlen(text) < sizeof(text));
}

static void numbers_are_parsed(void **state)
{
	static const struct {
		const char *s;
		int err;
	} bad[] = {
		{ "", -EINVAL },
		{ "-1", -EINVAL },
		{ "+1", -EINVAL },
		{ "01", -EINVAL },
		{ "00", -EINVAL },
		{ " 1", -EINVAL },
		{ "1 ", -EINVAL },
		{ "0x1", -EINVAL },
		{ "1e3", -EINVAL },
		{ "1.0", -EINVAL },
		{ "\xd9\xa1", -EINVAL },
		{ "9223372036854775808", -ERANGE },
		{ "18446744073709551616", -ERANGE },
	};
	int64_t n;

	(void)state;
	assert_int_equal(number_parse("0", &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(number_parse("9223372036854775807", &n), 0);
	assert_int_equal(n, INT64_MAX);
	assert_true(number_is_token("42"));
	n = -1;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(number_parse(bad[i].s, &n), bad[i].err);
		assert_false(number_is_token(bad[i].s));
	}
	assert_int_equal(n, -1);
}

static void permission_bits_are_parsed(void **state)
{
	static const char *const bad[] = { "",	    "8",      "-644", "0o644",
					   "10000", "000644", "rw-",  " 644" };
	mode_t mode;

	(void)state;
	assert_int_equal(number_parse_mode("0644", &mode), 0);
	assert_int_equal(mode, 0644);
	assert_int_equal(number_parse_mode("07777", &mode), 0);
	assert_int_equal(mode, 07777);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(number_parse_mode(bad[i], &mode), -EINVAL);
	assert_int_equal(mode, 07777);
}

static struct ctl_line one(const char *key, const char *value)
{
	return (struct ctl_line){
		.n = 1,
		.kv = { { (char *)(uintptr_t)key, (char *)(uintptr_t)value } },
	};
}

/* A request's value that is refused names its key and itself. */
static void a_bad_value_is_named(void **state)
{
	struct ctl_line l = one("ttl", "soon");
	struct ctl_error error;
	int64_t n = -1;
	uint32_t mode = 1;
	bool flag = false;

	(void)state;
	assert_int_equal(ctl_duration(&l, "ttl", &n, &error), -EINVAL);
	assert_string_equal(error.key, "ttl");
	assert_string_equal(error.value, "soon");
	assert_string_equal(error.text, "ttl= is a duration such as 30s, 10m, 1h30m");
	l = one("ttl", "0");
	assert_int_equal(ctl_duration(&l, "ttl", &n, &error), -ERANGE);
	assert_string_equal(error.text, "ttl= is from 1ms to 3650d");
	assert_int_equal(ctl_mode(&l, "ttl", &mode, &error), 0);
	l = one("token", "9223372036854775808");
	assert_int_equal(ctl_token(&l, "token", &n, &error), -ERANGE);
	l = one("n", "8");
	assert_int_equal(ctl_count(&l, "n", 7, &n, &error), -ERANGE);
	assert_string_equal(error.text, "n= is at most 7");
	assert_int_equal(ctl_flag(&l, "n", &flag, &error), -EINVAL);
	assert_int_equal(ctl_flag(&l, "other", &flag, &error), 0);
	assert_int_equal(n, -1);
}

static void words_are_short_and_plain(void **state)
{
	char longest[CTL_WORD_MAX + 2] = { 0 };
	struct ctl_line l = one("owner", longest);
	struct ctl_error error;
	const char *out = NULL;

	(void)state;
	assert_int_equal(ctl_word(&l, "owner", &out, &error), -EINVAL);
	memset(longest, 'a', CTL_WORD_MAX);
	assert_int_equal(ctl_word(&l, "owner", &out, &error), 0);
	assert_ptr_equal(out, longest);
	longest[CTL_WORD_MAX] = 'a';
	assert_int_equal(ctl_word(&l, "owner", &out, &error), -EINVAL);
	for (char c = 1; c < 0x20; c++) {
		char control[2] = { c, '\0' };

		l = one("owner", control);
		assert_int_equal(ctl_word(&l, "owner", &out, &error), -EINVAL);
	}
}

static void paths_stay_inside(void **state)
{
	static const struct {
		const char *path;
		int err;
	} bad[] = {
		{ "", -EINVAL },     { "..", -EINVAL },	       { "a/../b", -EINVAL },
		{ "a/..", -EINVAL }, { ".fence/ctl", -EPERM },
	};
	char out[FENCE_PATH_MAX + 1] = "";
	struct ctl_error error;
	bool is_dir = false;
	struct ctl_line good;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct ctl_line l = one("path", bad[i].path);

		assert_int_equal(ctl_path(&l, "path", out, &is_dir, &error), bad[i].err);
		assert_string_equal(error.key, "path");
	}
	good = one("path", "a//b/");
	assert_int_equal(ctl_path(&good, "path", out, &is_dir, &error), 0);
	assert_string_equal(out, "a/b");
	assert_true(is_dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_are_parsed),
		cmocka_unit_test(what_is_no_span_is_refused),
		cmocka_unit_test(units_may_be_others),
		cmocka_unit_test(seconds_go_there_and_back),
		cmocka_unit_test(numbers_are_parsed),
		cmocka_unit_test(permission_bits_are_parsed),
		cmocka_unit_test(a_bad_value_is_named),
		cmocka_unit_test(words_are_short_and_plain),
		cmocka_unit_test(paths_stay_inside),
	};

	return cmocka_run_group_tests_name("wire-value", tests, NULL, NULL);
}
