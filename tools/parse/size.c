/* SPDX-License-Identifier: MIT */
/* See size.h. Layer: tools. */
#include "parse/size.h"

#include <stdlib.h>
#include <string.h>

bool size_parse(const char *s, int64_t *out)
{
	static const char units[] = "KkMmGgTt";
	size_t digits = strspn(s, "0123456789");
	const char *unit = s + digits, *known = *unit ? strchr(units, *unit) : NULL;
	int shift = known ? 10 * (int)((known - units) / 2 + 1) : 0;
	int64_t n;

	if (digits == 0 || digits > 18 || (*unit && (!known || unit[1])))
		return false;
	n = strtoll(s, NULL, 10);
	if (n == 0 || n > INT64_MAX >> shift)
		return false;
	*out = n << shift;
	return true;
}
