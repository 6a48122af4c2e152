/* SPDX-License-Identifier: MIT */
/* Publishing a session, and what becomes of one that is not published. For this layer only. */
#ifndef FENCE_CORE_PUBLISH_COMMIT_H
#define FENCE_CORE_PUBLISH_COMMIT_H

#include "store/tree/change.h"

#include <stdbool.h>

struct core;
struct session;

struct commit_args {
	const char *op; /* NULL: none; borrowed for the call */
	int64_t seq;	/* -1: none */
	bool once;
};

/*
 * @err 0: @result has revision and changed. A refusal: result->refusal.err is set and the session
 * has ended. ENOSPC, EDQUOT: the session is open again. EIO: it is lost. EREMOTEIO: unknown. Called
 * once, with no lock held.
 */
typedef void (*commit_done_fn)(void *arg, int err, const struct commit_result *result);

/*
 * -EBUSY: it is being committed.  -ESTALE: it has ended.  Otherwise 0 and @done is called, from
 *                                 another thread.
 */
int commit_session(struct core *c, struct session *s, const struct commit_args *args,
		   commit_done_fn done, void *arg);

/*
 * End @s without publishing. If it had been refused anything, what it staged is kept as orphans
 * with reject rows (P9). -EBUSY, -ESTALE as above. @done may be NULL.
 */
int commit_abort(struct core *c, struct session *s, void (*done)(void *arg), void *arg);

#endif
