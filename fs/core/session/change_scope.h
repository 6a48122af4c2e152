/* SPDX-License-Identifier: MIT */
/*
 * One change of a session's tree in progress: the session locked for writing, a connection and a
 * revision. For this layer only.
 */
#ifndef FENCE_CORE_SESSION_CHANGE_SCOPE_H
#define FENCE_CORE_SESSION_CHANGE_SCOPE_H

#include "core/session/session_impl.h"

struct change_scope {
	struct session *s; /* borrowed, locked */
	struct db *db;	   /* borrowed from the pool until change_end */
	int64_t rev;
};

/* -EROFS: not a session's view. */
int change_begin(struct change_scope *t, struct view *v);
/* Unlocks; returns @err. */
int change_end(struct change_scope *t, int err);
void change_touch(struct change_scope *t, int64_t dir);
/* 1 if directory @dir shows no entry. */
int change_is_empty(struct change_scope *t, int64_t dir);
/*
 * The node (kind, id) for changing it, adopted if it is unmodified, after all checks of its path.
 */
int change_node(struct change_scope *t, enum entry_kind kind, int64_t id, struct snode **out);
int change_sticky(struct change_scope *t, int64_t dir, uint32_t victim);

#endif
