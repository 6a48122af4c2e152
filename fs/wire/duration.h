/* SPDX-License-Identifier: MIT */
/*
 * Time spans as people write them: "1h30m". One reader for the units of the control protocol and
 * for tables of other units. Layer: wire. Input is untrusted: nothing asserts.
 */
#ifndef FENCE_WIRE_DURATION_H
#define FENCE_WIRE_DURATION_H

#include <stdint.h>

#define DURATION_MAX (3650 * INT64_C(86400000000000)) /* ten years, in nanoseconds */

struct duration_unit {
	const char *name; /* small letters; NULL ends a table */
	int64_t ns;
};

/*
 * The sum of numbers with their units: nanoseconds, from 0 to DURATION_MAX. -EINVAL: it is none, or
 * a unit is not in @units; -ERANGE: it is longer.
 */
int duration_sum(const char *s, const struct duration_unit *units, int64_t *out);

/*
 * The same with the units of the protocol, ms, s, m, h and d: "5s", "1m30s", "500ms"; a number
 * alone is seconds.
 */
int duration_parse(const char *s, int64_t *out);

#endif
