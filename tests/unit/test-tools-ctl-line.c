/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "parse/client_line.h"

#include <errno.h>
#include <string.h>

static void values_are_encoded(void **state)
{
	auto_buf struct buf req = { 0 };

	(void)state;
	ctl_request_begin(&req, "open");
	ctl_request_field(&req, "path", "a b%c\td\ne\rf/\xc3\xa9");
	ctl_request_field(&req, "owner", NULL);
	ctl_request_number(&req, "size", UINT64_MAX);
	assert_string_equal(req.s,
			    "open path=a%20b%25c%09d%0Ae%0Df/\xc3\xa9 size=18446744073709551615");
	ctl_request_begin(&req, "hello");
	assert_string_equal(req.s, "hello");
}

static int parse(const char *line, struct ctl_reply *out)
{
	return ctl_reply_parse(str_copy(line), out);
}

static void ok_has_fields(void **state)
{
	auto_ctl_reply struct ctl_reply r = { 0 };

	(void)state;
	assert_int_equal(parse("ok session=ab path=a%20b%0a%25 empty= # all # is well", &r), 0);
	assert_int_equal(r.err, 0);
	assert_string_equal(ctl_reply_get(&r, "session"), "ab");
	assert_string_equal(ctl_reply_get(&r, "path"), "a b\n%");
	assert_string_equal(ctl_reply_get(&r, "empty"), "");
	assert_null(ctl_reply_get(&r, "sess"));
	assert_string_equal(r.text, "all # is well");
}

static void err_has_errno(void **state)
{
	auto_ctl_reply struct ctl_reply r = { 0 };

	(void)state;
	assert_int_equal(parse("err ESTALE token=41 highest=42", &r), 0);
	assert_int_equal(r.err, ESTALE);
	assert_string_equal(ctl_reply_get(&r, "highest"), "42");
	assert_string_equal(r.text, "");
}

static void other_lines_are_refused(void **state)
{
	static const char *const lines[] = {
		"",	   "okay",     "err",	   "err ENOSUCHNAME", "ok word", "ok =value",
		"ok a=%0", "ok a=%zz", "ok a=%00", "ok  a=1",	      "err ",	 " ok",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct ctl_reply r = { .n = -1 };

		assert_int_equal(parse(lines[i], &r), -EPROTO);
		assert_int_equal(r.n, -1);
	}
}

static void many_fields_do_no_harm(void **state)
{
	auto_buf struct buf line = { 0 };
	auto_ctl_reply struct ctl_reply r = { 0 };

	(void)state;
	buf_str(&line, "ok");
	for (int i = 0; i < 1000; i++)
		buf_printf(&line, " k%d=%d", i, i);
	assert_int_equal(parse(line.s, &r), 0);
	assert_int_equal(r.n, CTL_REPLY_FIELDS_MAX);
	assert_string_equal(ctl_reply_get(&r, "k7"), "7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_encoded),	  cmocka_unit_test(ok_has_fields),
		cmocka_unit_test(err_has_errno),	  cmocka_unit_test(other_lines_are_refused),
		cmocka_unit_test(many_fields_do_no_harm),
	};

	return cmocka_run_group_tests_name("ctl_line", tests, NULL, NULL);
}
