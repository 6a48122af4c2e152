/* SPDX-License-Identifier: MIT */
/*
 * A request whose answer comes later, perhaps from another thread, and which FUSE_INTERRUPT may end
 * before that. It holds no worker while it waits. Whoever wins parked_claim() replies, exactly
 * once. Layer: fuse.
 */
#ifndef FENCE_FUSE_STATE_PARKED_H
#define FENCE_FUSE_STATE_PARKED_H

#include <stdatomic.h>
#include <stdbool.h>

#include <fuse_lowlevel.h>

struct parked {
	fuse_req_t req;
	/*
	 * Its caller was interrupted: end it early if it still waits. Called once at most, and
	 * never before parked_started(). May reply; must not touch @p after what may have dropped
	 * the last reference.
	 */
	void (*interrupt)(struct parked *p);
	void (*free)(struct parked *p);
	atomic_uint state;
	atomic_uint refs;
};

/* Two references: the handler's, and that of whoever completes the work. */
void parked_init(struct parked *p, fuse_req_t req, void (*interrupt)(struct parked *p),
		 void (*free)(struct parked *p));
/* The work was handed over: from now on it can be interrupted. */
void parked_started(struct parked *p);
/*
 * True: the caller must reply to the request now, nobody else does, and no interrupt is under way
 * any more (except the one from within which this was called). False: it was answered already.
 */
bool parked_claim(struct parked *p);
void parked_put(struct parked *p);

#endif
