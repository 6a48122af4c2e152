/* SPDX-License-Identifier: MIT */
/*
 * The service manager's watchdog hears of us only while requests to this mount are answered.
 * Layer: fuse.
 */
#ifndef FENCE_FUSE_MOUNT_WATCHDOG_H
#define FENCE_FUSE_MOUNT_WATCHDOG_H

#include <stdatomic.h>
#include <stdint.h>

struct core;
struct notify_socket;

struct watchdog {
	const struct notify_socket *notify; /* borrowed; NULL: nobody to tell */
	unsigned int workers;		    /* how many there may be */
	atomic_uint busy;	    /* of them; who waits in a parked request keeps none busy */
	atomic_uint_fast64_t ended; /* handlers, ever */
	atomic_uint_fast64_t ended_before; /* when this was last looked at */
};

static inline void watchdog_handler_begins(struct watchdog *w)
{
	atomic_fetch_add_explicit(&w->busy, 1, memory_order_relaxed);
}

static inline void watchdog_handler_ends(struct watchdog *w)
{
	atomic_fetch_add_explicit(&w->ended, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&w->busy, 1, memory_order_relaxed);
}

/* When the mount answers; does nothing if nobody watches. */
void watchdog_start(struct watchdog *w, struct core *core);

#endif
