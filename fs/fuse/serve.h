/* SPDX-License-Identifier: MIT */
/* The daemon's life: store, core, mount, the loop, and all of it back. Layer: fuse. */
#ifndef FENCE_FUSE_SERVE_H
#define FENCE_FUSE_SERVE_H

#include "base/errmsg.h"

struct notify_socket;
struct options;

struct serve_place {
	const char *store;	/* absolute */
	const char *mountpoint; /* absolute */
	/* Called once, when the mount answers; on one of libfuse's threads. */
	void (*ready)(void *arg);
	void *ready_arg;
	const struct notify_socket *notify; /* borrowed; NULL: nobody to tell */
};

/*
 * Serve until a signal or an unmount. 0 after an orderly end, what had been accepted being
 * finished; -errno with a sentence in @err when it did not come to serving.
 */
int serve(const struct options *o, const struct serve_place *place, struct errmsg *err);

#endif
