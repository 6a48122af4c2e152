/* SPDX-License-Identifier: MIT */
/* Reading one JSON object of strings and numbers, as a line of .fence/events is. */
#ifndef FENCE_TOOLS_OUT_JSON_OBJECT_H
#define FENCE_TOOLS_OUT_JSON_OBJECT_H

#include "wire/reply.h"

/*
 * @line (NUL-terminated, without LF) into *out as the fields of a reply: numbers and words as they
 * stand, strings unescaped, with the lone surrogates \udc80 … \udcff back as bytes (see json.h).
 * -EPROTO: something else.
 */
int json_object_parse(const char *line, struct reply *out);

#endif
