/* SPDX-License-Identifier: MIT */
/* Lines of the control file: built, taken apart as a reply, taken apart as a request. Unit test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/ctl_line.h"
#include "wire/errname.h"
#include "wire/line.h"
#include "wire/reply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void values_are_encoded(void **state)
{
	auto_line struct line l = { 0 };

	(void)state;
	line_begin(&l, "open");
	line_field(&l, "path", "a b%c\td\ne\rf/\xc3\xa9");
	line_field(&l, "owner", NULL);
	line_field(&l, "op", "");
	line_number(&l, "size", INT64_MAX);
	assert_string_equal(
		l.s, "open path=a%20b%25c%09d%0Ae%0Df/\xc3\xa9 op= size=9223372036854775807");
	line_begin(&l, "hello");
	assert_string_equal(l.s, "hello");
	assert_int_equal(l.len, 5);
}

static void a_reply_is_built(void **state)
{
	auto_line struct line l = { 0 };

	(void)state;
	line_begin(&l, "err");
	line_word(&l, "ESTALE");
	line_number(&l, "token", 41);
	line_seconds(&l, "set_at", INT64_C(1764500523000000042), 9);
	line_seconds(&l, "remaining", INT64_C(12999999999), 3);
	line_text(&l, "a \x01 b\nc\x7f");
	assert_string_equal(l.s, "err ESTALE token=41 set_at=1764500523.000000042 "
				 "remaining=12.999 # a ? b?c?");
	line_bytes(&l, "\n\0x", 3);
	assert_memory_equal(l.s + l.len - 3, "\n\0x", 4);
	assert_false(l.failed);
}

/* Every byte survives the way there and back. */
static void all_bytes_pass(void **state)
{
	struct ctl_line parsed = { 0 };
	struct ctl_error error;
	char bytes[256];

	(void)state;
	for (int i = 1; i < 256; i++)
		bytes[i - 1] = (char)i;
	bytes[255] = '\0';
	for (int begin = 0; begin < 255; begin++) {
		auto_line struct line l = { 0 };
		auto_reply struct reply r = { 0 };

		line_begin(&l, "ok");
		line_field(&l, "path", bytes + begin);
		line_field(&l, "a", "b");
		assert_int_equal(reply_parse(l.s, l.len, &r), 0);
		assert_string_equal(reply_get(&r, "path"), bytes + begin);
		assert_string_equal(reply_get(&r, "a"), "b");
		assert_int_equal(ctl_line_parse(l.s, l.len, &parsed, &error), 0);
		assert_string_equal(ctl_line_get(&parsed, "path"), bytes + begin);
		ctl_line_fini(&parsed);
	}
}

static int parse(const char *line, struct reply *out)
{
	return reply_parse(line, strlen(line), out);
}

static void ok_has_fields(void **state)
{
	auto_reply struct reply r = { 0 };

	(void)state;
	assert_int_equal(parse("ok session=ab path=a%20b%0a%25 empty= # all # is well", &r), 0);
	assert_int_equal(r.err, 0);
	assert_string_equal(reply_get(&r, "session"), "ab");
	assert_string_equal(reply_get(&r, "path"), "a b\n%");
	assert_string_equal(reply_get(&r, "empty"), "");
	assert_null(reply_get(&r, "sess"));
	assert_string_equal(r.text, "all # is well");
}

static void err_has_errno(void **state)
{
	auto_reply struct reply r = { 0 };

	(void)state;
	assert_int_equal(parse("err ESTALE token=41 highest=42", &r), 0);
	assert_int_equal(r.err, -ESTALE);
	assert_string_equal(reply_get(&r, "highest"), "42");
	assert_string_equal(r.text, "");
}

static void other_lines_are_no_replies(void **state)
{
	static const char *const lines[] = {
		"",	   "okay",     "err",	   "err ENOSUCHNAME", "ok word", "ok =value",
		"ok a=%0", "ok a=%zz", "ok a=%00", "ok  a=1",	      "err ",	 " ok",
		"ok a=%",  "ok =",     "OK",	   "err estale",      "err 0",	 "ok ",
		"ok\ta=1", "\n",       "err E",	   "err EIO ",	      "ok a=%2", "ok #x",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct reply r = { .n = -1 };

		assert_int_equal(parse(lines[i], &r), -EPROTO);
		assert_int_equal(r.n, -1);
	}
	assert_int_equal(reply_parse("ok a=1\0b=2", 10, &(struct reply){ 0 }), -EPROTO);
	assert_int_equal(reply_parse(NULL, 0, &(struct reply){ 0 }), -EPROTO);
}

static void many_fields_do_no_harm(void **state)
{
	auto_line struct line l = { 0 };
	auto_reply struct reply r = { 0 };

	(void)state;
	line_begin(&l, "ok");
	for (int i = 0; i < 1000; i++) {
		char key[16];

		snprintf(key, sizeof(key), "k%d", i);
		line_number(&l, key, i);
	}
	assert_int_equal(parse(l.s, &r), 0);
	assert_int_equal(r.n, REPLY_FIELDS_MAX);
	assert_string_equal(reply_get(&r, "k7"), "7");
}

static void a_request_is_taken_apart(void **state)
{
	static const char text[] = "put path=a%20b token=42 op=%E2%82%AC=x empty=";
	struct ctl_line l = { 0 };
	struct ctl_error error;

	(void)state;
	assert_int_equal(ctl_line_parse(text, strlen(text), &l, &error), 0);
	assert_string_equal(l.verb, "put");
	assert_int_equal(l.n, 4);
	assert_string_equal(ctl_line_get(&l, "path"), "a b");
	assert_string_equal(ctl_line_get(&l, "op"), "\xe2\x82\xac=x");
	assert_string_equal(ctl_line_get(&l, "empty"), "");
	assert_null(ctl_line_get(&l, "pat"));
	ctl_line_fini(&l);
}

static void what_is_no_request_is_refused(void **state)
{
	static const struct {
		const char *line, *key, *text;
	} bad[] = {
		{ "", "", "empty line" },
		{ "stat path=a\r", "", "CR LF" },
		{ "stat\rpath=a", "", "%0D" },
		{ "stat\tpath=a", "", "%09" },
		{ "stat  path=a", "", "two spaces" },
		{ "stat path=a ", "", "two spaces" },
		{ " stat", "", "begins with a verb" },
		{ "STAT", "", "begins with a verb" },
		{ "stat=1", "", "begins with a verb" },
		{ "stat path", "path", "is not key=value" },
		{ "stat =a", "", "a key is lower-case" },
		{ "stat Path=a", "", "a key is lower-case" },
		{ "stat path=a path=b", "path", "given twice" },
		{ "stat path=%", "path", "two hex digits" },
		{ "stat path=%4", "path", "two hex digits" },
		{ "stat path=%g0", "path", "two hex digits" },
		{ "stat path=100%", "path", "two hex digits" },
		{ "stat path=a%00b", "path", "%00 is refused" },
		{ "x a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1 r=1 s=1 "
		  "t=1 u=1 v=1 w=1 x=1 y=1",
		  "y", "too many keys" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ctl_line l = { .n = -1 };
		struct ctl_error error;

		assert_int_equal(ctl_line_parse(bad[i].line, strlen(bad[i].line), &l, &error),
				 -EINVAL);
		assert_int_equal(error.err, -EINVAL);
		assert_string_equal(error.key, bad[i].key);
		assert_non_null(strstr(error.text, bad[i].text));
		assert_int_equal(l.n, -1);
	}
}

static void a_nul_in_a_request_is_refused(void **state)
{
	struct ctl_line l = { .n = -1 };
	struct ctl_error error;

	(void)state;
	assert_int_equal(ctl_line_parse("stat\0x", 6, &l, &error), -EINVAL);
	assert_string_equal(error.text, "a NUL byte in the line");
}

static void long_words_are_cut_in_messages(void **state)
{
	struct ctl_line l;
	struct ctl_error error;
	size_t len = 5 + CTL_LINE_MAX;
	char *text = malloc(len);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', len);
	memcpy(text, "stat ", 5);
	assert_int_equal(ctl_line_parse(text, len, &l, &error), -EINVAL);
	assert_int_equal(strlen(error.key), sizeof(error.key) - 1);
	assert_true(strlen(error.text) < sizeof(error.text));
	free(text);
}

static void errno_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(errname(ESTALE), "ESTALE");
	assert_string_equal(errname(-EREMOTEIO), "EREMOTEIO");
	assert_string_equal(errname(99999), "EIO");
	assert_string_equal(errname(0), "EIO");
	assert_int_equal(errname_parse("ESTALE"), ESTALE);
	assert_int_equal(errname_parse("E"), 0);
	assert_int_equal(errname_parse(""), 0);
	assert_int_equal(errname_parse("estale"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_encoded),
		cmocka_unit_test(a_reply_is_built),
		cmocka_unit_test(all_bytes_pass),
		cmocka_unit_test(ok_has_fields),
		cmocka_unit_test(err_has_errno),
		cmocka_unit_test(other_lines_are_no_replies),
		cmocka_unit_test(many_fields_do_no_harm),
		cmocka_unit_test(a_request_is_taken_apart),
		cmocka_unit_test(what_is_no_request_is_refused),
		cmocka_unit_test(a_nul_in_a_request_is_refused),
		cmocka_unit_test(long_words_are_cut_in_messages),
		cmocka_unit_test(errno_has_a_name),
	};

	return cmocka_run_group_tests_name("wire-line", tests, NULL, NULL);
}
