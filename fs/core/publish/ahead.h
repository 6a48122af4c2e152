/* SPDX-License-Identifier: MIT */
/*
 * Inline content of a very large commit goes ahead of it, so that one transaction does not hold all
 * of it in memory: nothing refers to it until then, and it is pinned. Layer: core, room publish.
 */
#ifndef FENCE_CORE_PUBLISH_AHEAD_H
#define FENCE_CORE_PUBLISH_AHEAD_H

#include "core/publish/seal.h"

/* Pool thread; waits for the committer. What was recorded has no data in memory any more. */
int ahead_record(struct core *c, struct sealed_set *set);

#endif
