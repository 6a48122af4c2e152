/* SPDX-License-Identifier: MIT */
#include "parse/duration.h"

#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)
#define MAX    (3650 * 86400 * SECOND)

static const struct {
	const char *name;
	int64_t ns;
} units[] = {
	{ "ms", SECOND / 1000 }, { "s", SECOND },	  { "m", 60 * SECOND },
	{ "h", 3600 * SECOND },	 { "d", 86400 * SECOND },
};

/* 0: no such unit. */
static int64_t unit_of(const char *s, size_t len)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == len && memcmp(units[i].name, s, len) == 0)
			return units[i].ns;
	return 0;
}

/* The number and unit at *s, which moves on; false: there is none, or it is too large. */
static bool one_part(const char **s, bool is_first, int64_t *total)
{
	size_t digits = strspn(*s, "0123456789");
	const char *unit = *s + digits;
	size_t len = strspn(unit, "abcdefghijklmnopqrstuvwxyz");
	bool is_alone = is_first && len == 0 && !*unit;
	int64_t ns = is_alone ? SECOND : unit_of(unit, len);
	int64_t n;

	if (digits == 0 || digits > 18 || ns == 0)
		return false;
	n = strtoll(*s, NULL, 10);
	if (n > MAX / ns || *total + n * ns > MAX)
		return false;
	*total += n * ns;
	*s = unit + len;
	return true;
}

bool duration_parse(const char *s, int64_t *out)
{
	const char *p = s;
	int64_t total = 0;

	do {
		if (!one_part(&p, p == s, &total))
			return false;
	} while (*p);
	*out = total;
	return true;
}
