/* SPDX-License-Identifier: MIT */
/* See line.h. Layer: wire. */
#include "wire/line.h"

#include "wire/escape.h"
#include "wire/seconds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void line_bytes(struct line *l, const void *bytes, size_t len)
{
	if (l->failed)
		return;
	if (l->len + len + 1 > l->room) {
		size_t room = (l->len + len) * 2 + 64;
		char *grown = realloc(l->s, room);

		if (!grown) {
			l->failed = true;
			return;
		}
		l->s = grown;
		l->room = room;
	}
	if (len)
		memcpy(l->s + l->len, bytes, len);
	l->len += len;
	l->s[l->len] = '\0';
}

static void add(struct line *l, const char *s)
{
	line_bytes(l, s, strlen(s));
}

void line_begin(struct line *l, const char *word)
{
	l->len = 0;
	add(l, word);
}

void line_word(struct line *l, const char *word)
{
	add(l, " ");
	add(l, word);
}

void line_field(struct line *l, const char *key, const char *value)
{
	if (!value)
		return;
	line_word(l, key);
	add(l, "=");
	while (*value) {
		size_t plain = 0;
		char coded[4];

		while (value[plain] && !escape_is_needed(value[plain]))
			plain++;
		line_bytes(l, value, plain);
		value += plain;
		if (!*value)
			break;
		snprintf(coded, sizeof(coded), "%%%02X", (unsigned int)(unsigned char)*value++);
		add(l, coded);
	}
}

void line_number(struct line *l, const char *key, int64_t value)
{
	char s[32];

	snprintf(s, sizeof(s), "%" PRId64, value);
	line_field(l, key, s);
}

void line_seconds(struct line *l, const char *key, int64_t ns, int decimals)
{
	char s[SECONDS_ROOM];

	seconds_format(s, ns, decimals);
	line_field(l, key, s);
}

void line_text(struct line *l, const char *text)
{
	size_t from;

	add(l, " # ");
	from = l->len;
	add(l, text);
	for (char *p = l->s ? l->s + from : NULL; p && *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
}

void line_fini(struct line *l)
{
	free(l->s);
	*l = (struct line){ 0 };
}
