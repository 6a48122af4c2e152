/* SPDX-License-Identifier: MIT */
/* See cell_width.h. Layer: tools. */
#include "out/cell_width.h"

#include "parse/utf8.h"

#include <locale.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

/* wcwidth() knows what the locale knows; the C locale knows nothing beyond ASCII. */
static locale_t utf8_locale(void)
{
	return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* Of the character at @s, whose length goes to *out_len. */
static size_t width_at(const char *s, size_t *out_len)
{
	uint32_t code = 0;
	size_t len = utf8_next(s, &code);
	int width;

	*out_len = len ? len : 1;
	if (!len)
		return 1;
	width = wcwidth((wchar_t)code);
	return width < 0 ? 1 : (size_t)width;
}

/* Bytes of @s that fit into @columns; their width in *out_width. */
static size_t fitting(const char *s, size_t columns, size_t *out_width)
{
	locale_t utf8 = utf8_locale();
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;
	size_t at = 0, width = 0;

	while (s[at]) {
		size_t len, w = width_at(s + at, &len);

		if (width + w > columns)
			break;
		width += w;
		at += len;
	}
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	*out_width = width;
	return at;
}

size_t cell_width(const char *shown)
{
	size_t width;

	fitting(shown, SIZE_MAX, &width);
	return width;
}

void cell_cut(struct buf *out, const char *shown, size_t columns)
{
	size_t width;

	if (shown[fitting(shown, columns, &width)]) {
		buf_add(out, shown, fitting(shown, columns - 1, &width));
		buf_str(out, "…");
	} else {
		buf_str(out, shown);
	}
}

size_t cell_line(const char *shown, size_t columns)
{
	size_t width;
	size_t len = fitting(shown, columns, &width);
	size_t space = len;

	if (!shown[len] || shown[len] == ' ')
		return len;
	while (space > 0 && shown[space - 1] != ' ')
		space--;
	while (space > 0 && shown[space - 1] == ' ')
		space--;
	if (space > 0)
		return space;
	return len > 0 ? len : strlen(shown);
}
