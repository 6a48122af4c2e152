/* SPDX-License-Identifier: MIT */
/* Numbers on the wire: tokens, counts, permission bits. Layer: wire. Input is untrusted. */
#ifndef FENCE_WIRE_NUMBER_H
#define FENCE_WIRE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Decimal without sign or leading zeros, at most 2^63-1. -EINVAL, -ERANGE. */
int number_parse(const char *s, int64_t *out);
/* Whether it is such a number: what the protocol calls a token. */
bool number_is_token(const char *s);
/* "0644", "644": octal permission bits, at most 07777. -EINVAL. */
int number_parse_mode(const char *s, mode_t *out);

#endif
