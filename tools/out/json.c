/* SPDX-License-Identifier: MIT */
/* See json.h. Layer: tools. */
#include "out/json.h"

#include "parse/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void before_value(struct json *j)
{
	if (j->comma)
		buf_str(&j->out, ", ");
	j->comma = true;
}

void json_open(struct json *j, char bracket)
{
	before_value(j);
	buf_char(&j->out, bracket);
	j->comma = false;
}

void json_close(struct json *j, char bracket)
{
	buf_char(&j->out, bracket);
	j->comma = true;
}

static size_t add_escaped(struct buf *out, const char *s)
{
	unsigned char c = (unsigned char)*s;
	uint32_t code;
	size_t len;

	if (c == '"' || c == '\\') {
		buf_printf(out, "\\%c", c);
		return 1;
	}
	if (c < 0x20 || c == 0x7f) {
		buf_printf(out, "\\u%04x", c);
		return 1;
	}
	len = utf8_next(s, &code);
	if (!len) {
		buf_printf(out, "\\udc%02x", c);
		return 1;
	}
	buf_add(out, s, len);
	return len;
}

static void add_quoted(struct buf *out, const char *s)
{
	buf_char(out, '"');
	while (*s)
		s += add_escaped(out, s);
	buf_char(out, '"');
}

void json_key(struct json *j, const char *key)
{
	before_value(j);
	add_quoted(&j->out, key);
	buf_str(&j->out, ": ");
	j->comma = false;
}

void json_string(struct json *j, const char *s)
{
	before_value(j);
	if (s)
		add_quoted(&j->out, s);
	else
		buf_str(&j->out, "null");
}

void json_number(struct json *j, int64_t n)
{
	before_value(j);
	buf_printf(&j->out, "%" PRId64, n);
}

void json_raw(struct json *j, const char *text)
{
	before_value(j);
	buf_str(&j->out, text);
}

void json_bool(struct json *j, bool b)
{
	before_value(j);
	buf_str(&j->out, b ? "true" : "false");
}

void json_line(struct json *j)
{
	/* The comma belongs to the line before. */
	if (j->comma)
		buf_char(&j->out, ',');
	buf_char(&j->out, '\n');
	j->comma = false;
}

void json_print(struct json *j)
{
	buf_char(&j->out, '\n');
	fwrite(j->out.s, 1, j->out.len, stdout);
	buf_clear(&j->out);
}

void json_fini(struct json *j)
{
	buf_fini(&j->out);
}
