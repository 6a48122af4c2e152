/* SPDX-License-Identifier: MIT */
/* UTF-8, one sequence after another. Layer: tools. */
#ifndef FENCE_TOOLS_PARSE_UTF8_H
#define FENCE_TOOLS_PARSE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Length of the valid UTF-8 sequence at @s (NUL-terminated) and its code point; 0 if there is none:
 * no overlong forms, surrogates, or anything above U+10FFFF. NUL counts as invalid.
 */
size_t utf8_next(const char *s, uint32_t *out_code);

#endif
