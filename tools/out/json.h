/* SPDX-License-Identifier: MIT */
/*
 * Writing JSON. Bytes that are not UTF-8 become the lone surrogates \udc80 … \udcff, as Python's
 * os.fsdecode() does it: nothing is lost, and os.fsencode() of the string is the name again.
 */
#ifndef FENCE_TOOLS_OUT_JSON_H
#define FENCE_TOOLS_OUT_JSON_H

#include "parse/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct json {
	struct buf out;
	bool comma; /* the next value or key needs one before it */
};

void json_open(struct json *j, char bracket);  /* '{' or '[' */
void json_close(struct json *j, char bracket); /* '}' or ']' */
void json_key(struct json *j, const char *key);
void json_string(struct json *j, const char *s); /* NULL: null */
void json_number(struct json *j, int64_t n);
void json_bool(struct json *j, bool b);
/* @text is JSON already: a number, say. */
void json_raw(struct json *j, const char *text);
/* A line break between values; white space to JSON. */
void json_line(struct json *j);
/* Print to stdout what there is, with a final line break, and forget it. */
void json_print(struct json *j);
void json_fini(struct json *j);

#define auto_json __attribute__((cleanup(json_fini)))

#endif
