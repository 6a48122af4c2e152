/* SPDX-License-Identifier: MIT */
#ifndef FENCE_TOOLS_PARSE_DURATION_H
#define FENCE_TOOLS_PARSE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * "5s", "1m30s", "500ms", "2h", "1d"; a number alone is seconds. Zero to ten years, in nanoseconds.
 * The grammar of the control protocol, for times that the daemon never sees.
 */
bool duration_parse(const char *s, int64_t *out);

#endif
