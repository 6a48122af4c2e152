/* SPDX-License-Identifier: MIT */
/* JSON written and read. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "out/json.h"
#include "parse/utf8.h"

#include <string.h>

static void check_string(const char *s, const char *want)
{
	auto_json struct json j = { 0 };

	json_string(&j, s);
	assert_string_equal(j.out.s, want);
}

static void strings_are_escaped(void **state)
{
	(void)state;
	check_string("", "\"\"");
	check_string("a \"b\" \\c/", "\"a \\\"b\\\" \\\\c/\"");
	check_string("\n\t\x01\x1b\x7f", "\"\\u000a\\u0009\\u0001\\u001b\\u007f\"");
	check_string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		     "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
	check_string(NULL, "null");
}

static void bytes_that_are_not_utf8_become_surrogates(void **state)
{
	(void)state;
	check_string("a\xff", "\"a\\udcff\"");
	check_string("\xc3", "\"\\udcc3\"");
	check_string("\xc0\x80", "\"\\udcc0\\udc80\"");		   /* overlong */
	check_string("\xed\xa0\x80", "\"\\udced\\udca0\\udc80\""); /* a surrogate */
	check_string("\xf4\x90\x80\x80", "\"\\udcf4\\udc90\\udc80\\udc80\"");
	check_string("\xe2\x82", "\"\\udce2\\udc82\"");
}

static void commas_stand_between(void **state)
{
	auto_json struct json j = { 0 };

	(void)state;
	json_open(&j, '[');
	json_line(&j);
	json_open(&j, '{');
	json_key(&j, "a");
	json_number(&j, INT64_MIN);
	json_key(&j, "b");
	json_open(&j, '[');
	json_close(&j, ']');
	json_close(&j, '}');
	json_line(&j);
	json_bool(&j, true);
	json_bool(&j, false);
	json_close(&j, ']');
	assert_string_equal(j.out.s, "[\n{\"a\": -9223372036854775808, \"b\": []},\ntrue, false]");
}

static void utf8_is_measured(void **state)
{
	uint32_t code = 0;

	(void)state;
	assert_int_equal(utf8_next("a", &code), 1);
	assert_int_equal(code, 'a');
	assert_int_equal(utf8_next("\xf0\x9f\x98\x80", &code), 4);
	assert_int_equal(code, 0x1f600);
	assert_int_equal(utf8_next("", &code), 0);
	assert_int_equal(utf8_next("\xe0\x9f\xbf", &code), 0);
	assert_int_equal(utf8_next("\xf5\x80\x80\x80", &code), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(bytes_that_are_not_utf8_become_surrogates),
		cmocka_unit_test(commas_stand_between),
		cmocka_unit_test(utf8_is_measured),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
