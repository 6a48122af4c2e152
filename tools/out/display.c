/* SPDX-License-Identifier: MIT */
/* See display.h. Layer: tools. */
#include "out/display.h"

#include "parse/utf8.h"
#include "wire/seconds.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* C1 controls, line separators, and marks that change the direction of the text around them. */
static bool is_tricky(uint32_t code)
{
	return (code >= 0x80 && code < 0xa0) || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
	       code == 0xfeff;
}

static void add_control(struct buf *out, unsigned char c)
{
	switch (c) {
	case '\n':
		buf_str(out, "\\n");
		break;
	case '\t':
		buf_str(out, "\\t");
		break;
	case '\r':
		buf_str(out, "\\r");
		break;
	case '\\':
		buf_str(out, "\\\\");
		break;
	default:
		buf_printf(out, "\\x%02x", c);
	}
}

void display_name(struct buf *out, const char *s)
{
	while (*s) {
		unsigned char c = (unsigned char)*s;
		uint32_t code = 0;
		size_t len = utf8_next(s, &code);

		if (c < 0x20 || c == 0x7f || c == '\\' || !len) {
			add_control(out, c);
			len = 1;
		} else if (is_tricky(code)) {
			buf_printf(out, "\\u%04" PRIx32, code);
		} else {
			buf_add(out, s, len);
		}
		s += len;
	}
}

size_t display_width(const char *shown)
{
	size_t width = 0;

	for (; *shown; shown++)
		width += ((unsigned char)*shown & 0xc0) != 0x80;
	return width;
}

static bool parse_time(const char *at, time_t *out_seconds, long *out_nanos)
{
	int64_t ns;

	if (seconds_parse(at, &ns) < 0)
		return false;
	*out_seconds = (time_t)(ns / SECOND);
	*out_nanos = (long)(ns % SECOND);
	return true;
}

void display_time(struct buf *out, const char *at)
{
	char text[64];
	struct tm tm;
	time_t seconds;
	long nanos;

	if (!parse_time(at, &seconds, &nanos) || !localtime_r(&seconds, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
		display_name(out, at);
	else
		buf_str(out, text);
}

void display_utc(struct buf *out, const char *at)
{
	char text[64];
	struct tm tm;
	time_t seconds;
	long nanos;

	if (!parse_time(at, &seconds, &nanos) || !gmtime_r(&seconds, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		buf_str(out, at);
	else
		buf_printf(out, "%s.%09ldZ", text, nanos);
}

void display_size(struct buf *out, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double n = (double)bytes;
	int unit = -1;

	while (n >= 1024 && unit < 5) {
		n /= 1024;
		unit++;
	}
	if (unit < 0)
		buf_printf(out, "%" PRIu64, bytes);
	else
		buf_printf(out, n < 10 ? "%.1f %s" : "%.0f %s", n, units[unit]);
}
