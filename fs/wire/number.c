/* SPDX-License-Identifier: MIT */
/* See number.h. Layer: wire. */
#include "wire/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int number_parse(const char *s, int64_t *out)
{
	int64_t n = 0;

	if (!*s || strspn(s, "0123456789") != strlen(s) || (s[0] == '0' && s[1]))
		return -EINVAL;
	for (; *s; s++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s - '0', &n))
			return -ERANGE;
	*out = n;
	return 0;
}

bool number_is_token(const char *s)
{
	int64_t token;

	return number_parse(s, &token) == 0;
}

int number_parse_mode(const char *s, mode_t *out)
{
	size_t len = strlen(s);
	unsigned long mode;

	if (len == 0 || len > 5 || strspn(s, "01234567") != len)
		return -EINVAL;
	mode = strtoul(s, NULL, 8);
	if (mode > 07777)
		return -EINVAL;
	*out = (mode_t)mode;
	return 0;
}
