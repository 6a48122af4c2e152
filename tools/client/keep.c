/* SPDX-License-Identifier: MIT */
/* See keep.h. Layer: tools. */
#include "client/keep.h"

#include "wire/duration.h"
#include "wire/seconds.h"
#include "out/exit_code.h"
#include "out/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY (86400 * SECOND)

static const struct duration_unit units[] = {
	{ "y", 366 * DAY },	{ "m", 31 * DAY },	{ "w", 7 * DAY }, { "d", DAY },
	{ "h", 3600 * SECOND }, { "min", 60 * SECOND }, { "s", SECOND },  { NULL, 0 },
};

static const struct {
	const char *option, *key;
	enum retain kind;
} counts[] = {
	{ "keep-last", "keep_last", RETAIN_LAST },
	{ "keep-hourly", "keep_hourly", RETAIN_HOURLY },
	{ "keep-daily", "keep_daily", RETAIN_DAILY },
	{ "keep-weekly", "keep_weekly", RETAIN_WEEKLY },
	{ "keep-monthly", "keep_monthly", RETAIN_MONTHLY },
	{ "keep-yearly", "keep_yearly", RETAIN_YEARLY },
};

bool keep_parse_time(const char *s, int64_t *out)
{
	return duration_sum(strcmp(s, "0") == 0 ? "0s" : s, units, out) == 0;
}

bool keep_is_given(const struct args *a)
{
	bool any = args_has(a, "keep-within");

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		any = any || args_has(a, counts[i].option);
	return any;
}

static int parse_count(const struct args *a, const char *option, int64_t *out)
{
	const char *s = args_get(a, option);
	size_t digits = s ? strspn(s, "0123456789") : 0;

	if (!s)
		return EXIT_OK;
	if (digits == 0 || digits > 9 || s[digits])
		return report_usage(a, "--%s %s: not a number of versions", option, s);
	*out = strtoll(s, NULL, 10);
	return EXIT_OK;
}

int keep_parse(const struct args *a, struct retention *out)
{
	const char *within = args_get(a, "keep-within");
	int code = EXIT_OK;

	if (within && !keep_parse_time(within, &out->within))
		return report_usage(a, "--keep-within %s: not a time such as 1y6m7d12h", within);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) && !code; i++)
		code = parse_count(a, counts[i].option, &out->count[counts[i].kind]);
	return code;
}

void keep_add(struct line *req, const struct args *a)
{
	struct retention r = { .within = 0 };
	char seconds[32];

	if (keep_parse(a, &r))
		return; /* checked before */
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (args_has(a, counts[i].option))
			line_number(req, counts[i].key, r.count[counts[i].kind]);
	if (!args_has(a, "keep-within"))
		return;
	snprintf(seconds, sizeof(seconds), "%" PRId64, r.within / SECOND);
	line_field(req, "keep_within", seconds);
}
