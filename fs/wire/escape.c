/* SPDX-License-Identifier: MIT */
/* See escape.h. Layer: wire. */
#include "wire/escape.h"

#include <errno.h>
#include <string.h>

bool escape_is_needed(char c)
{
	return c && strchr(" \t\n\r%", c);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int escape_decode(char *value)
{
	char *to = value;

	for (const char *from = value; *from; from++) {
		int high, low;

		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		high = hex_digit(from[1]);
		low = high < 0 ? -1 : hex_digit(from[2]);
		if (low < 0)
			return -EINVAL;
		if (high == 0 && low == 0)
			return -EILSEQ;
		*to++ = (char)(high << 4 | low);
		from += 2;
	}
	*to = '\0';
	return 0;
}
