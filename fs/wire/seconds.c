/* SPDX-License-Identifier: MIT */
/* See seconds.h. Layer: wire. */
#include "wire/seconds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

void seconds_format(char out[SECONDS_ROOM], int64_t ns, int decimals)
{
	int64_t part = ns % SECOND;

	for (int i = decimals; i < 9; i++)
		part /= 10;
	snprintf(out, SECONDS_ROOM, "%" PRId64 ".%0*" PRId64, ns / SECOND, decimals, part);
}

/* After the dot, which *s moves over. */
static int parse_fraction(const char **s, int64_t *out)
{
	int64_t scale = SECOND;

	if (**s < '0' || **s > '9')
		return -EINVAL;
	*out = 0;
	for (; **s >= '0' && **s <= '9'; (*s)++) {
		if (scale == 1)
			return -EINVAL;
		scale /= 10;
		*out += (**s - '0') * scale;
	}
	return 0;
}

int seconds_parse(const char *s, int64_t *out)
{
	int64_t whole = 0, part = 0;
	int err = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *s - '0', &whole))
			err = -ERANGE;
	if (*s == '.') {
		s++;
		if (parse_fraction(&s, &part) < 0)
			return -EINVAL;
	}
	if (*s)
		return -EINVAL;
	if (err || __builtin_mul_overflow(whole, SECOND, &whole) ||
	    __builtin_add_overflow(whole, part, &whole))
		return -ERANGE;
	*out = whole;
	return 0;
}
