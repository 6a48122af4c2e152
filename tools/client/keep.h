/* SPDX-License-Identifier: MIT */
/* The --keep-… options of gc and policy. */
#ifndef FENCE_TOOLS_CLIENT_KEEP_H
#define FENCE_TOOLS_CLIENT_KEEP_H

#include "parse/args.h"
#include "parse/buf.h"
#include "store/gc/retention.h"
#include "wire/line.h"

#include <stdbool.h>
#include <stdint.h>

#define KEEP_OPTIONS                                                                         \
	{ "keep-last", 0, "N", "keep the last N versions of each name" },                    \
		{ "keep-within", 0, "TIME",                                                  \
		  "keep what was current at any time in the last TIME, such as 1y6m7d12h" }, \
		{ "keep-hourly", 0, "N",                                                     \
		  "keep the newest version of each of the last N hours that have one" },     \
		{ "keep-daily", 0, "N", "the same for days" },                               \
		{ "keep-weekly", 0, "N", "the same for weeks" },                             \
		{ "keep-monthly", 0, "N", "the same for months" },                           \
	{                                                                                    \
		"keep-yearly", 0, "N", "the same for years"                                  \
	}

/*
 * "1y6m7d12h": years, months (as in restic: m), weeks, days, hours; also min and s. Years have 366
 * days and months 31, so that nothing goes earlier than the calendar says. Zero to ten years, ns.
 */
bool keep_parse_time(const char *s, int64_t *out);

/* Whether any was given. */
bool keep_is_given(const struct args *a);
/*
 * Those that were given into *out, whose others stay. 0, or EXIT_USAGE when it has said what is
 * wrong.
 */
int keep_parse(const struct args *a, struct retention *out);
/* Those that were given as fields of a request. */
void keep_add(struct line *req, const struct args *a);

#endif
