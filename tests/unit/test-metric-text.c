/* SPDX-License-Identifier: MIT */
/* Histograms, and metrics as text. */
#include "base/histogram.h"
#include "base/metric_text.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define THREADS	   4
#define PER_THREAD 50000

static void test_each_bucket_ends_where_it_says(void **state)
{
	struct histogram h = { .sum = 0 };
	struct histogram_values v;

	(void)state;
	for (int i = 0; i < HISTOGRAM_BOUNDS; i++) {
		histogram_add(&h, histogram_bounds[i]);
		histogram_add(&h, histogram_bounds[i] + 1);
		if (i > 0)
			assert_true(histogram_bounds[i] > histogram_bounds[i - 1]);
	}
	histogram_read(&h, &v);
	for (int i = 0; i < HISTOGRAM_BOUNDS; i++)
		assert_int_equal(v.up_to[i], 2 * i + 1);
	assert_int_equal(v.up_to[HISTOGRAM_BOUNDS], 2 * HISTOGRAM_BOUNDS);
}

static void test_what_cannot_be_is_counted_at_the_ends(void **state)
{
	struct histogram h = { .sum = 0 };
	struct histogram_values v;

	(void)state;
	histogram_add(&h, -5);
	histogram_add(&h, 0);
	histogram_add(&h, INT64_MAX / 2);
	histogram_read(&h, &v);
	assert_int_equal(v.up_to[0], 2);
	assert_int_equal(v.up_to[HISTOGRAM_BOUNDS - 1], 2);
	assert_int_equal(v.up_to[HISTOGRAM_BOUNDS], 3);
	assert_int_equal(v.sum, INT64_MAX / 2);
}

static void *add_many(void *arg)
{
	for (int i = 0; i < PER_THREAD; i++)
		histogram_add(arg, i * 1000);
	return NULL;
}

static void test_threads_lose_nothing(void **state)
{
	static struct histogram h;
	struct histogram_values v, last = { .sum = 0 };
	pthread_t t[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, add_many, &h), 0);
	do {
		histogram_read(&h, &v);
		for (int i = 0; i <= HISTOGRAM_BOUNDS; i++)
			assert_true(v.up_to[i] >= last.up_to[i]);
		last = v;
	} while (v.up_to[HISTOGRAM_BOUNDS] < THREADS * PER_THREAD);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	histogram_read(&h, &v);
	assert_int_equal(v.up_to[HISTOGRAM_BOUNDS], THREADS * PER_THREAD);
	assert_int_equal(v.sum, THREADS * (PER_THREAD - 1LL) * PER_THREAD / 2 * 1000);
}

static void expect(const struct metric_text *t, const char *want)
{
	assert_false(t->failed);
	assert_string_equal(t->s, want);
	assert_int_equal(t->len, strlen(want));
}

static void test_samples(void **state)
{
	const struct metric m = { "x_total", "What it is.", METRIC_COUNTER };
	struct metric_text t = { 0 };

	(void)state;
	metric_begin(&t, &m);
	metric_int(&t, &m, METRIC_PLAIN, 7);
	metric_int(&t, &m, METRIC_LABELS("a", "1", "b", "2"), -7);
	metric_seconds(&t, &m, METRIC_LABEL("a", "q\"b\\s\nl"), 1500000001);
	metric_seconds(&t, &m, METRIC_PLAIN, -1);
	expect(&t, "# HELP x_total What it is.\n"
		   "# TYPE x_total counter\n"
		   "x_total 7\n"
		   "x_total{a=\"1\",b=\"2\"} -7\n"
		   "x_total{a=\"q\\\"b\\\\s\\nl\"} 1.500000001\n"
		   "x_total 0.000000000\n");
	metric_text_fini(&t);
}

static void test_histogram_as_text(void **state)
{
	static const char begin[] = "# HELP t_seconds Time.\n"
				    "# TYPE t_seconds histogram\n"
				    "t_seconds_bucket{op=\"x\",le=\"1e-05\"} 1\n"
				    "t_seconds_bucket{op=\"x\",le=\"3e-05\"} 1\n"
				    "t_seconds_bucket{op=\"x\",le=\"0.0001\"} 1\n"
				    "t_seconds_bucket{op=\"x\",le=\"0.0003\"} 1\n"
				    "t_seconds_bucket{op=\"x\",le=\"0.001\"} 2\n";
	static const char end[] = "t_seconds_bucket{op=\"x\",le=\"10\"} 2\n"
				  "t_seconds_bucket{op=\"x\",le=\"30\"} 2\n"
				  "t_seconds_bucket{op=\"x\",le=\"+Inf\"} 3\n"
				  "t_seconds_sum{op=\"x\"} 60.000505000\n"
				  "t_seconds_count{op=\"x\"} 3\n";
	const struct metric m = { "t_seconds", "Time.", METRIC_HISTOGRAM };
	struct histogram h = { .sum = 0 };
	struct metric_text t = { 0 };

	(void)state;
	histogram_add(&h, 5000);
	histogram_add(&h, 500000);
	histogram_add(&h, 60000000000);
	metric_begin(&t, &m);
	metric_histogram(&t, &m, METRIC_LABEL("op", "x"), &h);
	assert_memory_equal(t.s, begin, sizeof(begin) - 1);
	assert_string_equal(t.s + t.len - (sizeof(end) - 1), end);
	metric_text_fini(&t);
}

static void test_long_text_grows(void **state)
{
	const struct metric m = { "x", "X.", METRIC_GAUGE };
	struct metric_text t = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++)
		metric_int(&t, &m, METRIC_PLAIN, i % 10);
	assert_false(t.failed);
	assert_int_equal(t.len, 400000);
	assert_int_equal(strlen(t.s), t.len);
	metric_text_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_bucket_ends_where_it_says),
		cmocka_unit_test(test_what_cannot_be_is_counted_at_the_ends),
		cmocka_unit_test(test_threads_lose_nothing),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_histogram_as_text),
		cmocka_unit_test(test_long_text_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
