/* SPDX-License-Identifier: MIT */
/*
 * Percent-encoding of values on the control file: space, TAB, LF, CR and "%" are written as "%" and
 * two hex digits; all else passes as it is. Layer: wire. Input is untrusted: nothing asserts.
 */
#ifndef FENCE_WIRE_ESCAPE_H
#define FENCE_WIRE_ESCAPE_H

#include <stdbool.h>

/* Whether @c must be encoded in a value. */
bool escape_is_needed(char c);

/*
 * Decode @value in place. -EINVAL: a "%" without two hex digits; -EILSEQ: %00, which no name
 * contains. What @value holds after a failure is not told.
 */
int escape_decode(char *value);

#endif
