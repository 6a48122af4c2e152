/* SPDX-License-Identifier: MIT */
/* For the files of this layer only. */
#ifndef FENCE_CORE_VIEW_SNAPSHOT_IMPL_H
#define FENCE_CORE_VIEW_SNAPSHOT_IMPL_H

#include "base/lock.h"
#include "core/view/snapshot.h"
#include "core/view/view_impl.h"

struct snapshot;
struct versions;

struct snapshot_list {
	struct lock lock; /* rank LOCK_SESSIONS */
	struct snapshot *first;
};

void snapshot_list_init(struct core *c);
void snapshot_list_fini(struct core *c);
int versions_init(struct core *c);
void versions_fini(struct core *c);

#endif
