/* SPDX-License-Identifier: MIT */
/* See uuid.h. Layer: base. */
#include "base/uuid.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/types.h>

int uuid_new(struct uuid *out)
{
	uint8_t b[16];

	if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
		return -EIO;
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40); /* version 4: random */
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	snprintf(out->s, sizeof(out->s),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
		 b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
		 b[15]);
	return 0;
}
