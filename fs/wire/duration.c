/* SPDX-License-Identifier: MIT */
/* See duration.h. Layer: wire. */
#include "wire/duration.h"

#include "wire/seconds.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct duration_unit protocol_units[] = {
	{ "ms", SECOND / 1000 }, { "s", SECOND },	  { "m", 60 * SECOND },
	{ "h", 3600 * SECOND },	 { "d", 86400 * SECOND }, { NULL, 0 },
};

/* 0: no such unit. */
static int64_t unit_of(const struct duration_unit *units, const char *s, size_t len)
{
	for (const struct duration_unit *u = units; u->name; u++)
		if (strlen(u->name) == len && memcmp(u->name, s, len) == 0)
			return u->ns;
	return 0;
}

/* The digits at *s, which moves over them; *too_large instead of what no sum can hold. */
static int64_t take_number(const char **s, bool *too_large)
{
	int64_t n = 0;

	for (; **s >= '0' && **s <= '9'; (*s)++) {
		n = n * 10 + (**s - '0');
		if (n > DURATION_MAX) {
			*too_large = true;
			n = 0;
		}
	}
	return n;
}

int duration_sum(const char *s, const struct duration_unit *units, int64_t *out)
{
	bool too_large = false;
	int64_t total = 0;

	do {
		const char *digits = s;
		int64_t n = take_number(&s, &too_large);
		size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz");
		int64_t ns = unit_of(units, s, len);

		if (s == digits || ns == 0)
			return -EINVAL;
		if (n > (DURATION_MAX - total) / ns)
			too_large = true;
		else
			total += n * ns;
		s += len;
	} while (*s);
	if (too_large)
		return -ERANGE;
	*out = total;
	return 0;
}

int duration_parse(const char *s, int64_t *out)
{
	bool too_large = false;
	size_t digits = strspn(s, "0123456789");
	int64_t n;

	if (digits == 0 || s[digits])
		return duration_sum(s, protocol_units, out);
	n = take_number(&s, &too_large);
	if (too_large || n > DURATION_MAX / SECOND)
		return -ERANGE;
	*out = n * SECOND;
	return 0;
}
