/* SPDX-License-Identifier: MIT */
/* The source of a mount whose daemon has died begins with this, once its guard has marked it. */
#ifndef FENCE_BASE_DEAD_MARK_H
#define FENCE_BASE_DEAD_MARK_H

#include <string.h>

#define DEAD_MARK "dead:"

/* The source as it was given. */
static inline const char *dead_mark_skip(const char *source)
{
	size_t len = strlen(DEAD_MARK);

	return strncmp(source, DEAD_MARK, len) == 0 ? source + len : source;
}

#endif
