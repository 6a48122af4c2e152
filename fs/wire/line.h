/* SPDX-License-Identifier: MIT */
/*
 * A line of the control file being put together, of a request or of a reply: a word, then fields
 * " key=value", and in a reply " # text". Layer: wire.
 *
 * Running out of memory is remembered in failed; what is added after that changes nothing.
 */
#ifndef FENCE_WIRE_LINE_H
#define FENCE_WIRE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line {
	char *s; /* owned; NUL-terminated; NULL while empty */
	size_t len, room;
	bool failed;
};

/* Empty the line and begin it with @word. */
void line_begin(struct line *l, const char *word);
/* " word" */
void line_word(struct line *l, const char *word);
/* " key=value", percent-encoded; nothing if @value is NULL. */
void line_field(struct line *l, const char *key, const char *value);
void line_number(struct line *l, const char *key, int64_t value);
/* Seconds with so many @decimals (up to 9) from nanoseconds. */
void line_seconds(struct line *l, const char *key, int64_t ns, int decimals);
/* " # text", the end of a reply; control bytes become "?". */
void line_text(struct line *l, const char *text);
/* Bytes as they are: the LF, and content that follows it. */
void line_bytes(struct line *l, const void *bytes, size_t len);
void line_fini(struct line *l);

#define auto_line __attribute__((cleanup(line_fini)))

#endif
