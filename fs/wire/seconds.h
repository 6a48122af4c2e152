/* SPDX-License-Identifier: MIT */
/*
 * Times on the wire: seconds (since 1970, or a span) with a decimal fraction, from and to
 * nanoseconds. Layer: wire. Input is untrusted: nothing asserts.
 */
#ifndef FENCE_WIRE_SECONDS_H
#define FENCE_WIRE_SECONDS_H

#include <stdint.h>

#define SECOND	     INT64_C(1000000000) /* in nanoseconds */
#define SECONDS_ROOM 32

/* "12.345" with so many @decimals, 1 to 9; cut, not rounded. @ns is not negative. */
void seconds_format(char out[SECONDS_ROOM], int64_t ns, int decimals);

/*
 * "12", "12.5": digits, and after a dot one to nine more. No sign.
 * -EINVAL; -ERANGE: beyond the year 2262.
 */
int seconds_parse(const char *s, int64_t *out);

#endif
