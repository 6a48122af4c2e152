/* SPDX-License-Identifier: MIT */
/* A file's own content in a session, before its first write. For this layer only. */
#ifndef FENCE_CORE_SESSION_COPYUP_H
#define FENCE_CORE_SESSION_COPYUP_H

#include "core/session/content_done.h"

#include <stdint.h>

struct view;

enum copyup_mode { COPYUP_EMPTY, COPYUP_CONTENT };

/*
 * 0: node @id is staged, go on.  -ESTALE: it was not, and has another id by now: look the name up
 *                                again (or: overtaken, ended). 1: a large copy runs; @done(@arg,
 *                                err) follows (only if @done is given, else it is waited for).
 */
int copyup_for_write(struct view *v, int64_t id, enum copyup_mode mode, content_done_fn done,
		     void *arg);

#endif
