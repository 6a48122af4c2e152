/* SPDX-License-Identifier: MIT */
/* Which versions are kept: against restic's own examples, and a model that tries all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/gc/retention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define S   INT64_C(1000000000)
#define H   (3600 * S)
#define D   (24 * H)
#define MAX 64

static int utc(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

/*
 * The label of the period that @at lies in, written out: slow, and nothing like the code under
 * test.
 */
static void label(enum retain kind, int64_t at, size_t nr, char out[64])
{
	time_t t = (time_t)(at / S);
	struct tm tm;

	gmtime_r(&t, &tm);
	switch (kind) {
	case RETAIN_HOURLY:
		strftime(out, 64, "%Y-%m-%d %H", &tm);
		break;
	case RETAIN_DAILY:
		strftime(out, 64, "%Y-%m-%d", &tm);
		break;
	case RETAIN_WEEKLY:
		strftime(out, 64, "%G-%V", &tm);
		break;
	case RETAIN_MONTHLY:
		strftime(out, 64, "%Y-%m", &tm);
		break;
	case RETAIN_YEARLY:
		strftime(out, 64, "%Y", &tm);
		break;
	case RETAIN_LAST:
	case RETAIN_KINDS:
		snprintf(out, 64, "%zu", nr);
	}
}

/*
 * The rule in words: of the newest N different labels, the newest version of each; and the oldest
 * version of all, if fewer than N labels came before its own decision.
 */
static bool model_keeps(const struct retention *r, int64_t now, const struct retention_version *v,
			size_t n, size_t at)
{
	if (v[at].until == INT64_MAX || (r->within && v[at].until > now - r->within))
		return true;
	for (int k = 0; k < RETAIN_KINDS; k++) {
		char last[64] = "", own[64];
		int64_t labels = 0;

		for (size_t i = 0; i <= at; i++) {
			bool is_new, is_oldest = i + 1 == n;

			label((enum retain)k, v[i].at, i, own);
			is_new = i == 0 || strcmp(own, last) != 0;
			if (i == at && labels < r->count[k] && (is_new || is_oldest))
				return true;
			labels += is_new;
			strcpy(last, own);
		}
	}
	return false;
}

static void check(const struct retention *r, int64_t now, struct retention_version *v, size_t n)
{
	retention_apply(r, now, v, n);
	for (size_t i = 0; i < n; i++) {
		if (v[i].keep != model_keeps(r, now, v, n, i))
			fail_msg("version %zu of %zu, made %lld s before: keep=%d", i, n,
				 (long long)((now - v[i].at) / S), v[i].keep);
	}
}

/* Versions back from @now, each the end of the next. */
static size_t make(struct retention_version *v, size_t n, int64_t now, int64_t step, bool current)
{
	int64_t until = current ? INT64_MAX : now;

	for (size_t i = 0; i < n; i++) {
		v[i] = (struct retention_version){ .at = now - (int64_t)i * step - S,
						   .until = until };
		until = v[i].at;
	}
	return n;
}

static void counts(void **state)
{
	int64_t now = INT64_C(1764500000) * S; /* 2025-11-30 10:53:20 UTC */
	struct retention_version v[MAX];
	struct retention r = { .count = { [RETAIN_LAST] = 3 } };
	size_t n = make(v, 10, now, H, true);

	(void)state;
	retention_apply(&r, now, v, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(v[i].keep, i < 3);
	/* One a day for the last two days that have one: today's newest, yesterday's newest. */
	r = (struct retention){ .count = { [RETAIN_DAILY] = 2 } };
	n = make(v, 30, now, H, true);
	retention_apply(&r, now, v, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(v[i].keep, i == 0 || i == 11);
	/* With counts left, the oldest stays. */
	r.count[RETAIN_DAILY] = 5;
	retention_apply(&r, now, v, n);
	assert_true(v[n - 1].keep);
	assert_false(v[n - 2].keep);
}

static void within(void **state)
{
	int64_t now = INT64_C(1764500000) * S;
	struct retention_version v[MAX];
	struct retention r = { .within = 3 * H + H / 2 };
	size_t n = make(v, 10, now, H, true);

	(void)state;
	retention_apply(&r, now, v, n);
	/* Made up to 3 h ago, and the one that was current 3.5 h ago. */
	for (size_t i = 0; i < n; i++)
		assert_int_equal(v[i].keep, i <= 4);
	/* Removed two hours ago; and long before. */
	n = make(v, 4, now - 2 * H, H, false);
	retention_apply(&r, now, v, n);
	assert_true(v[0].keep && v[1].keep && v[2].keep && !v[3].keep);
	n = make(v, 3, now - 9 * H, H, false);
	retention_apply(&r, now, v, n);
	assert_false(v[0].keep || v[1].keep || v[2].keep);
	/* Written long ago and just replaced. */
	v[0] = (struct retention_version){ .at = now - S, .until = INT64_MAX };
	v[1] = (struct retention_version){ .at = now - 400 * D, .until = now - S };
	retention_apply(&r, now, v, 2);
	assert_true(v[1].keep);
}

static void model(void **state)
{
	static const int64_t steps[] = { S, 600 * S, H, 5 * H, D, 6 * D, 17 * D, 200 * D };
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct retention_version v[MAX];
		struct retention r = { .within = 0 };
		size_t n = (size_t)(rand_r(&seed) % MAX);
		int64_t at = (INT64_C(1700000000) + rand_r(&seed) % 100000000) * S, now = at;
		int64_t until = rand_r(&seed) % 2 ? INT64_MAX : at;

		for (size_t i = 0; i < n; i++) {
			at -= (int64_t)(rand_r(&seed) % 1000) * steps[rand_r(&seed) % 8] / 300;
			v[i] = (struct retention_version){ .at = at, .until = until };
			until = at;
		}
		for (int k = 0; k < RETAIN_KINDS; k++)
			r.count[k] = rand_r(&seed) % 3 ? 0 : rand_r(&seed) % 8;
		if (rand_r(&seed) % 3 == 0)
			r.within = (int64_t)(rand_r(&seed) % 100) * steps[rand_r(&seed) % 8];
		check(&r, now, v, n);
	}
}

/* Before 1970, and with a clock that went back: no order is promised, but nothing current goes. */
static void odd_times(void **state)
{
	struct retention r = { .count = { [RETAIN_YEARLY] = 1 } };
	struct retention_version v[] = {
		{ .at = -5 * D, .until = INT64_MAX },
		{ .at = 7 * D, .until = -5 * D },
		{ .at = INT64_MIN / 4, .until = 7 * D },
	};

	(void)state;
	retention_apply(&r, 0, v, 3);
	assert_true(v[0].keep);
	retention_apply(&(struct retention){ .within = 0 }, 0, v, 3);
	assert_true(v[0].keep);
	assert_false(v[1].keep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(within),
		cmocka_unit_test(model),
		cmocka_unit_test(odd_times),
	};

	return cmocka_run_group_tests_name("retention", tests, utc, NULL);
}
