/* SPDX-License-Identifier: MIT */
/* See json_object.h. Layer: tools. */
#include "out/json_object.h"

#include "parse/buf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Strings only shrink when unescaped: they are written over themselves. */
struct json_cursor {
	char *from, *to;
};

static bool take_hex(struct json_cursor *c, uint32_t *out)
{
	char digits[5], *end;

	if (strspn(c->from, "0123456789abcdefABCDEF") < 4)
		return false;
	memcpy(digits, c->from, 4);
	digits[4] = '\0';
	*out = (uint32_t)strtoul(digits, &end, 16);
	c->from += 4;
	return true;
}

static void put_code(struct json_cursor *c, uint32_t code)
{
	if (code < 0x80) {
		*c->to++ = (char)code;
	} else if (code >= 0xdc80 && code <= 0xdcff) {
		*c->to++ = (char)(code & 0xff);
	} else if (code < 0x800) {
		*c->to++ = (char)(0xc0 | code >> 6);
		*c->to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*c->to++ = (char)(0xe0 | code >> 12);
		*c->to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*c->to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*c->to++ = (char)(0xf0 | code >> 18);
		*c->to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*c->to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*c->to++ = (char)(0x80 | (code & 0x3f));
	}
}

/* After "\u". */
static bool take_unicode(struct json_cursor *c)
{
	uint32_t code, low;

	if (!take_hex(c, &code) || code == 0)
		return false;
	if (code >= 0xd800 && code < 0xdc00) {
		if (c->from[0] != '\\' || c->from[1] != 'u')
			return false;
		c->from += 2;
		if (!take_hex(c, &low) || low < 0xdc00 || low > 0xdfff)
			return false;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	put_code(c, code);
	return true;
}

static bool take_escape(struct json_cursor *c)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	char name = *c->from++;
	const char *at;

	if (name == 'u')
		return take_unicode(c);
	at = name ? strchr(names, name) : NULL;
	if (!at)
		return false;
	*c->to++ = values[at - names];
	return true;
}

/* The string at @s, which begins with a quote; what comes after it, or NULL. */
static char *take_string(char *s, char **out)
{
	struct json_cursor c = { s + 1, s };

	if (*s != '"')
		return NULL;
	*out = s;
	while (*c.from && *c.from != '"') {
		if (*c.from != '\\')
			*c.to++ = *c.from++;
		else if (c.from++, !take_escape(&c))
			return NULL;
	}
	if (!*c.from)
		return NULL;
	*c.to = '\0';
	return c.from + 1;
}

static char *skip_space(char *s)
{
	return s + strspn(s, " \t");
}

/* A number, true, false or null. The caller ends it when the next character has been looked at. */
static char *take_word(char *s, char **out)
{
	size_t len = strspn(s, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");

	*out = s;
	return len ? s + len : NULL;
}

/* "key": value; the next character after it in *out_next. NULL: malformed. */
static char *take_member(char *s, struct reply *r, char *out_next)
{
	char *key, *value, *end;

	s = take_string(s, &key);
	if (!s)
		return NULL;
	s = skip_space(s);
	if (*s != ':')
		return NULL;
	s = skip_space(s + 1);
	s = *s == '"' ? take_string(s, &value) : take_word(s, &value);
	if (!s || r->n == REPLY_FIELDS_MAX)
		return NULL;
	end = s;
	s = skip_space(s);
	*out_next = *s;
	*end = '\0';
	r->fields[r->n++] = (struct reply_field){ key, value };
	return *out_next ? s + 1 : s;
}

int json_object_parse(const char *line, struct reply *out)
{
	struct reply r = { .text = "", .line = str_copy(line) };
	char *s = skip_space(r.line), next = ',';

	if (*s == '{') {
		s = skip_space(s + 1);
		while (s && next == ',')
			s = take_member(skip_space(s), &r, &next);
		if (s && next == '}' && !*skip_space(s)) {
			*out = r;
			return 0;
		}
	}
	reply_fini(&r);
	return -EPROTO;
}
