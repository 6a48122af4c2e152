/* SPDX-License-Identifier: MIT */
/* For the files of this layer only. */
#ifndef FENCE_CORE_VIEW_SNAPSHOT_IMPL_H
#define FENCE_CORE_VIEW_SNAPSHOT_IMPL_H

#include "core/view/snapshot.h"
#include "core/view/view_impl.h"

int snapshot_list_init(struct core *c);
void snapshot_list_fini(struct core *c);
int versions_init(struct core *c);
void versions_fini(struct core *c);

#endif
