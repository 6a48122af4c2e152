/* SPDX-License-Identifier: MIT */
/*
 * A growing byte string. Running out of memory ends the tool with a message: it has nothing left
 * to do then, and nothing of its own to save.
 */
#ifndef FENCE_TOOLS_PARSE_BUF_H
#define FENCE_TOOLS_PARSE_BUF_H

#include <stddef.h>

struct buf {
	char *s; /* owned; NULL while empty, else NUL-terminated */
	size_t len, cap;
};

/*
 * Room for @more bytes after the end (and a NUL); the place to write them. Count them with
 * buf_grown().
 */
char *buf_room(struct buf *b, size_t more);
void buf_grown(struct buf *b, size_t by);

void buf_add(struct buf *b, const void *bytes, size_t len);
void buf_str(struct buf *b, const char *s);
void buf_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_clear(struct buf *b);
void buf_fini(struct buf *b);
/* Never NULL. */
const char *buf_text(const struct buf *b);

/* strdup() that never returns NULL for a non-NULL @s. */
char *str_copy(const char *s);

#define auto_buf __attribute__((cleanup(buf_fini)))

#endif
