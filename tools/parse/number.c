/* SPDX-License-Identifier: MIT */
#include "parse/number.h"

#include <stdlib.h>
#include <string.h>

bool number_is_token(const char *s)
{
	static const char max[] = "9223372036854775807";
	size_t len = strlen(s);

	if (len == 0 || len > strlen(max) || strspn(s, "0123456789") != len)
		return false;
	if (s[0] == '0' && len > 1)
		return false;
	return len < strlen(max) || strcmp(s, max) <= 0;
}

bool number_parse_mode(const char *s, mode_t *out)
{
	size_t len = strlen(s);

	if (len == 0 || len > 5 || strspn(s, "01234567") != len)
		return false;
	*out = (mode_t)strtoul(s, NULL, 8);
	return *out <= 07777;
}
