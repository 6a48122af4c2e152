/* SPDX-License-Identifier: MIT */
#ifndef FENCE_TOOLS_PARSE_NUMBER_H
#define FENCE_TOOLS_PARSE_NUMBER_H

#include <stdbool.h>
#include <sys/types.h>

/* Decimal, without sign or leading zeros, at most 2^63-1: what the protocol calls a token. */
bool number_is_token(const char *s);
/* "0644", "644": octal permission bits. */
bool number_parse_mode(const char *s, mode_t *out);

#endif
