/* SPDX-License-Identifier: MIT */
/* A session's overlay as the list of changes that a commit applies. For this layer only. */
#ifndef FENCE_CORE_PUBLISH_CHANGE_LIST_H
#define FENCE_CORE_PUBLISH_CHANGE_LIST_H

#include "core/publish/seal.h"
#include "store/tree/change.h"

struct core;
struct session;

struct change_list {
	struct change *v; /* owned; each path is owned, the rest borrowed from the session */
	size_t n;
};

/*
 * In an order in which directories come before what is in them. Names whose content and attributes
 * are those of the version they began as are left out. 0 with refusal->err set: the directory of a
 * changed name has gone from the live tree; the list then serves to name what is kept.
 */
int change_list_build(struct core *c, struct session *s, const struct sealed_set *sealed,
		      struct change_list *out, struct refusal *refusal);
void change_list_fini(struct change_list *l);

#endif
