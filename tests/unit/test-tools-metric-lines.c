/* SPDX-License-Identifier: MIT */
/* The text of .fence/metrics as fence reads it. */
#include "out/metric_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char text[] = "# HELP a A.\n"
			   "# TYPE a gauge\n"
			   "a 1\n"
			   "a_total{x=\"y z\",s=\"q\\\"}\"} 2.5\n"
			   "\n"
			   "b{x=\"1\",longer_x=\"2\"} 3";

static void test_samples_in_turn(void **state)
{
	struct metric_line line;

	(void)state;
	assert_true(metric_line_next(text, &line));
	assert_string_equal(line.name, "a");
	assert_string_equal(line.value, "1");
	assert_true(metric_line_next(line.after, &line));
	assert_string_equal(line.name, "a_total{x=\"y z\",s=\"q\\\"}\"}");
	assert_string_equal(line.value, "2.5");
	assert_true(metric_line_next(line.after, &line));
	assert_string_equal(line.value, "3");
	assert_false(metric_line_next(line.after, &line));
	assert_false(metric_line_next("", &line));
	assert_false(metric_line_next("# only\n", &line));
}

static void test_labels(void **state)
{
	struct metric_line line = { .name = "b{x=\"1\",longer_x=\"2\"}" };
	char value[8];

	(void)state;
	assert_true(metric_line_label(&line, "x", value, sizeof(value)));
	assert_string_equal(value, "1");
	assert_true(metric_line_label(&line, "longer_x", value, sizeof(value)));
	assert_string_equal(value, "2");
	assert_false(metric_line_label(&line, "longer", value, sizeof(value)));
	assert_false(metric_line_label(&(struct metric_line){ .name = "a" }, "x", value, 8));
}

static void test_value_by_name(void **state)
{
	struct metric_line room;

	(void)state;
	assert_string_equal(metric_lines_value(text, "a", &room), "1");
	assert_string_equal(metric_lines_value(text, "b{x=\"1\",longer_x=\"2\"}", &room), "3");
	assert_string_equal(metric_lines_value(text, "b", &room), "");
}

static void test_one_more_label(void **state)
{
	auto_buf struct buf out = { 0 };

	(void)state;
	metric_lines_relabel(&out, text, "mount", "/m \"\\\n\xff\xc3\xa9");
	assert_string_equal(
		out.s,
		"# HELP a A.\n"
		"# TYPE a gauge\n"
		"a{mount=\"/m \\\"\\\\\\n\xef\xbf\xbd\xc3\xa9\"} 1\n"
		"a_total{mount=\"/m \\\"\\\\\\n\xef\xbf\xbd\xc3\xa9\",x=\"y z\",s=\"q\\\"}\"} 2.5\n"
		"\n"
		"b{mount=\"/m \\\"\\\\\\n\xef\xbf\xbd\xc3\xa9\",x=\"1\",longer_x=\"2\"} 3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_in_turn),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_value_by_name),
		cmocka_unit_test(test_one_more_label),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
