/* SPDX-License-Identifier: MIT */
/*
 * What of the store is visible. Written by the notifier's thread only, which says how
 * (notifier.c); read by everybody. Layer: core, room loop.
 */
#ifndef FENCE_CORE_LOOP_LIVE_H
#define FENCE_CORE_LOOP_LIVE_H

#include <stdatomic.h>
#include <stdint.h>

struct live {
	/* The revision that every view reads at. */
	_Atomic int64_t rev;
	/* Non-zero while a commit becomes visible: replies are not to be cached. */
	atomic_int window;
	/*
	 * Counts commits that moved or removed a directory: cached directory paths of another count
	 * are void.
	 */
	atomic_uint_fast64_t dir_moves;
};

#endif
