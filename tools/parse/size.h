/* SPDX-License-Identifier: MIT */
/* Sizes as people write them. Layer: tools. */
#ifndef FENCE_TOOLS_PARSE_SIZE_H
#define FENCE_TOOLS_PARSE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * "4096", "50M", "1.5" is none: a whole number above 0, with K, M, G or T, large or small, for
 * powers of 1024.
 */
bool size_parse(const char *s, int64_t *out);

#endif
