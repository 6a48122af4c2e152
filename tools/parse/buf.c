/* SPDX-License-Identifier: MIT */
/* See buf.h. Layer: tools. */
#include "parse/buf.h"

#include "base/cleanup.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
	if (!p) {
		fputs("fence: out of memory\n", stderr);
		exit(EXIT_FAILURE);
	}
	return p;
}

char *buf_room(struct buf *b, size_t more)
{
	size_t want = b->len + more + 1;
	size_t cap = b->cap ? b->cap : 64;

	while (cap < want)
		cap *= 2;
	if (cap != b->cap) {
		b->s = must(realloc(b->s, cap));
		b->cap = cap;
	}
	return b->s + b->len;
}

void buf_grown(struct buf *b, size_t by)
{
	b->len += by;
	b->s[b->len] = '\0';
}

void buf_add(struct buf *b, const void *bytes, size_t len)
{
	char *room = buf_room(b, len);

	if (len)
		memcpy(room, bytes, len);
	buf_grown(b, len);
}

void buf_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	auto_free char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	must(n < 0 ? NULL : text);
	buf_add(b, text, (size_t)n);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->s)
		b->s[0] = '\0';
}

void buf_fini(struct buf *b)
{
	free(b->s);
	*b = (struct buf){ 0 };
}

const char *buf_text(const struct buf *b)
{
	return b->s ? b->s : "";
}

char *str_copy(const char *s)
{
	return must(strdup(s));
}
