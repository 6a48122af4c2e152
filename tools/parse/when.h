/* SPDX-License-Identifier: MIT */
/* Points in time as people write them. */
#ifndef FENCE_TOOLS_PARSE_WHEN_H
#define FENCE_TOOLS_PARSE_WHEN_H

#include <stdint.h>

/* For messages: what when_parse() understands. */
#define WHEN_FORMS \
	"2026-11-30T11:02:03Z, \"2026-11-30 11:02\", 11:02, \"10m ago\", or seconds since 1970"

/*
 * Nanoseconds since the epoch. Without a zone it is local time; "11:02" is today's; units of "ago",
 * which may be left out, are s, m, h, d, w, and may be combined: "1h30m ago". @now is taken as the
 * present. -EINVAL, -ERANGE.
 */
int when_parse(const char *s, int64_t now, int64_t *out);
/* The present. */
int64_t when_now(void);

#endif
