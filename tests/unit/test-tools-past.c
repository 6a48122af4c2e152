/* SPDX-License-Identifier: MIT */
/* What the verbs that look back take apart and measure: PATH@N, lines of events, columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "out/cell_width.h"
#include "out/json_object.h"
#include "client/version_arg.h"

#include <errno.h>
#include <string.h>

static void check_arg(const char *given, enum version_kind kind, const char *path,
		      const char *number)
{
	auto_version_arg struct version_arg v = { 0 };

	version_arg_parse(given, &v);
	assert_int_equal(v.kind, kind);
	assert_string_equal(buf_text(&v.path), path);
	assert_string_equal(v.number, number);
}

static void versions_are_told_from_names(void **state)
{
	(void)state;
	check_arg("a", VERSION_LIVE, "a", "");
	check_arg("a@1", VERSION_NUMBER, "a", "1");
	check_arg("a@r12", VERSION_REVISION, "a", "12");
	check_arg("a@r0", VERSION_REVISION, "a", "0");
	check_arg("/x@3/a", VERSION_LIVE, "/x@3/a", "");
	check_arg("a@2@", VERSION_LIVE, "a@2", "");
	check_arg("a@2@7", VERSION_NUMBER, "a@2", "7");
	check_arg("a@2@@", VERSION_LIVE, "a@2@", "");
	check_arg("a@2@@7", VERSION_NUMBER, "a@2@", "7");
	check_arg("a@", VERSION_LIVE, "a@", "");
	check_arg("a@0", VERSION_LIVE, "a@0", "");
	check_arg("a@01", VERSION_LIVE, "a@01", "");
	check_arg("a@r", VERSION_LIVE, "a@r", "");
	check_arg("a@1x", VERSION_LIVE, "a@1x", "");
	check_arg("@1", VERSION_LIVE, "@1", "");
	check_arg("@@1", VERSION_NUMBER, "@", "1");
	check_arg("@", VERSION_LIVE, "@", "");
	check_arg("", VERSION_LIVE, "", "");
	check_arg("a@1111111111111111111", VERSION_LIVE, "a@1111111111111111111", "");
}

static void lines_are_taken_apart(void **state)
{
	auto_reply struct reply r = { 0 };

	(void)state;
	assert_int_equal(json_object_parse(
				 "{\"id\":12,\"a\" : \"x\\\"\\\\\\n\\u00e9\\ud83d\\ude00\\udcff\", "
				 "\"t\":-1.5e3,\"b\":true,\"e\":\"\"}",
				 &r),
			 0);
	assert_string_equal(reply_get(&r, "id"), "12");
	assert_string_equal(reply_get(&r, "a"), "x\"\\\n\xc3\xa9\xf0\x9f\x98\x80\xff");
	assert_string_equal(reply_get(&r, "t"), "-1.5e3");
	assert_string_equal(reply_get(&r, "b"), "true");
	assert_string_equal(reply_get(&r, "e"), "");
	assert_null(reply_get(&r, "x"));
}

static void malformed_lines_are_errors(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"{}",
		"[1]",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1",
		"{\"a\":1,}",
		"{\"a\":\"x}",
		"{\"a\":\"\\",
		"{\"a\":\"\\q\"}",
		"{a:1}",
		"{\"a\":1}x",
		"{\"a\":[1]}",
		"{\"a\":\"\\u12\"}",
		"{\"a\":\"\\ud800\"}",
	};
	struct reply r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(json_object_parse(bad[i], &r), -EPROTO);
}

static void check_cut(const char *s, size_t columns, const char *want)
{
	auto_buf struct buf out = { 0 };

	cell_cut(&out, s, columns);
	assert_string_equal(buf_text(&out), want);
	assert_true(cell_width(buf_text(&out)) <= columns);
}

static void text_is_cut_by_columns(void **state)
{
	(void)state;
	assert_int_equal(cell_width("abc"), 3);
	assert_int_equal(cell_width("é"), 1);
	assert_int_equal(cell_width("e\xcc\x81"), 1);
	assert_int_equal(cell_width("名前"), 4);
	check_cut("abcdef", 6, "abcdef");
	check_cut("abcdefg", 6, "abcde…");
	check_cut("名前名前", 8, "名前名前");
	check_cut("名前名前", 7, "名前名…");
	check_cut("名前名前", 6, "名前…");
	check_cut("x", 1, "x");
	check_cut("", 1, "");
	assert_int_equal(cell_line("one two three", 7), 7);
	assert_int_equal(cell_line("one two three", 9), 7);
	assert_int_equal(cell_line("abcdefgh", 3), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_told_from_names),
		cmocka_unit_test(lines_are_taken_apart),
		cmocka_unit_test(malformed_lines_are_errors),
		cmocka_unit_test(text_is_cut_by_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
