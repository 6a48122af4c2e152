/* SPDX-License-Identifier: MIT */
/* See utf8.h. Layer: tools. */
#include "parse/utf8.h"

#include <stdbool.h>

static size_t sequence_length(unsigned char lead)
{
	if (lead < 0x80)
		return lead ? 1 : 0;
	if (lead >= 0xc2 && lead < 0xe0)
		return 2;
	if (lead >= 0xe0 && lead < 0xf0)
		return 3;
	if (lead >= 0xf0 && lead < 0xf5)
		return 4;
	return 0;
}

static bool is_code_point(uint32_t code, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	return code >= least[len] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

size_t utf8_next(const char *s, uint32_t *out_code)
{
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	size_t len = sequence_length((unsigned char)s[0]);
	uint32_t code = (unsigned char)s[0] & mask[len];

	for (size_t i = 1; i < len; i++) {
		unsigned char byte = (unsigned char)s[i];

		if ((byte & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (byte & 0x3f);
	}
	if (!len || !is_code_point(code, len))
		return 0;
	*out_code = code;
	return len;
}
