/* SPDX-License-Identifier: MIT */
/* The range of keys strictly beneath a path, in the order of the fence table. */
#ifndef FENCE_STORE_FENCE_FENCE_RANGE_H
#define FENCE_STORE_FENCE_FENCE_RANGE_H

#include "base/path.h"

#include <stddef.h>

struct stmt;

struct fence_range {
	size_t low_len, high_len; /* both ends excluded; the root's own key "." may lie within */
	char low[FENCE_PATH_MAX + 2], high[FENCE_PATH_MAX + 2];
};

int fence_range(const char *path, struct fence_range *out);
/* As parameters 1 and 2. */
void fence_bind_range(struct stmt *st, const struct fence_range *r);

#endif
