/* SPDX-License-Identifier: MIT */
/*
 * An expected "no": what was refused, against what, by whom. Filled by claims and commits beside
 * their -errno.
 */
#ifndef FENCE_STORE_FENCE_REFUSAL_H
#define FENCE_STORE_FENCE_REFUSAL_H

#include "base/path.h"
#include "store/fence/owner.h"

#include <stdint.h>

struct refusal {
	int err;			   /* positive errno; 0: not refused */
	char path[FENCE_PATH_MAX + 1];	   /* the path it failed on */
	int64_t token;			   /* the refused one */
	int64_t highest;		   /* what stood against it, -1 if nothing did */
	int64_t set_at;			   /* nanoseconds, wall clock */
	char set_path[FENCE_PATH_MAX + 1]; /* path of the fence row that stood against it */
	char set_by[OWNER_MAX + 1];
	char text[512]; /* a plain sentence */
};

#endif
