/* SPDX-License-Identifier: MIT */
/*
 * Owning locals. A variable declared auto_fd/auto_free is released when it leaves its scope;
 * take_fd()/take_ptr() hands what it owns to somebody else and empties it. Never freed by hand.
 */
#ifndef FENCE_BASE_CLEANUP_H
#define FENCE_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define auto_fd	  __attribute__((cleanup(cleanup_fd)))
#define auto_free __attribute__((cleanup(cleanup_free)))
#define take_ptr(p)                        \
	({                                 \
		__auto_type taken_ = *(p); \
		*(p) = NULL;               \
		taken_;                    \
	})

#endif
