/* SPDX-License-Identifier: MIT */
/* How who waits for a copy of content learns that it is there. Layer: core, room session. */
#ifndef FENCE_CORE_SESSION_CONTENT_DONE_H
#define FENCE_CORE_SESSION_CONTENT_DONE_H

/* @err: 0 or -errno. Called once, from another thread, no lock held. */
typedef void (*content_done_fn)(void *arg, int err);

#endif
