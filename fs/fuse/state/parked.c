/* SPDX-License-Identifier: MIT */
/*
 * Parked requests. Layer: fuse.
 *
 * What libfuse (3.18, lib/fuse_lowlevel.c) does with an interrupt function, and what follows from
 * it:
 * - it is called with the request's lock held and with an extra reference, so replying within it is
 *   fine;
 * - but fuse_req_interrupt_func() calls it too, when the interrupt came first, and then without
 *   that reference: a reply there would free the request under libfuse's feet. So nothing is done
 *   before parked_started();
 * - function and argument are fetched and called under the request's lock, so taking the function
 *   away waits for one that runs, and none starts afterwards: only then may the argument be freed.
 *   Within the function that lock is held already.
 */
#include "fuse/state/parked.h"

enum {
	PARKED_STARTED = 1 << 0,
	PARKED_INTERRUPTED = 1 << 1,
	PARKED_DELIVERED = 1 << 2, /* interrupt() was called, or is about to be */
	PARKED_ANSWERED = 1 << 3,
};

/* The request whose interrupt function runs on this thread. */
static _Thread_local const struct parked *interrupting;

/* Once both the work has started and the interrupt has come, on whichever thread makes it so. */
static void deliver(struct parked *p, unsigned int bit)
{
	const unsigned int both = PARKED_STARTED | PARKED_INTERRUPTED;
	unsigned int state = atomic_fetch_or(&p->state, bit) | bit;

	if ((state & both) == both &&
	    !(atomic_fetch_or(&p->state, PARKED_DELIVERED) & PARKED_DELIVERED))
		p->interrupt(p);
}

static void on_interrupt(fuse_req_t req, void *arg)
{
	struct parked *p = arg;

	(void)req;
	interrupting = p;
	deliver(p, PARKED_INTERRUPTED);
	interrupting = NULL;
}

void parked_init(struct parked *p, fuse_req_t req, void (*interrupt)(struct parked *p),
		 void (*free)(struct parked *p))
{
	p->req = req;
	p->interrupt = interrupt;
	p->free = free;
	atomic_init(&p->state, 0);
	atomic_init(&p->refs, 2);
	fuse_req_interrupt_func(req, on_interrupt, p);
}

void parked_started(struct parked *p)
{
	deliver(p, PARKED_STARTED);
}

bool parked_claim(struct parked *p)
{
	fuse_req_t req = p->req;

	if (atomic_fetch_or(&p->state, PARKED_ANSWERED) & PARKED_ANSWERED)
		return false;
	if (interrupting != p)
		fuse_req_interrupt_func(req, NULL, NULL);
	return true;
}

void parked_put(struct parked *p)
{
	if (atomic_fetch_sub(&p->refs, 1) == 1)
		p->free(p);
}
