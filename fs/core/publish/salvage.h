/* SPDX-License-Identifier: MIT */
/* Content of refused writes, for `.fence/rejects/ID` (P9). */
#ifndef FENCE_CORE_PUBLISH_SALVAGE_H
#define FENCE_CORE_PUBLISH_SALVAGE_H

#include "core/view/node.h"

struct content;
struct core;

/*
 * The orphan of reject row @id as a read-only file: node.id = @id, mode 0400, owned by the refused
 * uid. -ENOENT.
 */
int salvage_lookup(struct core *c, int64_t id, struct node *out);
int salvage_open(struct core *c, int64_t id, struct content **out);
/* Ids of reject rows that have content, > @after, up to @max. The count. */
int salvage_list(struct core *c, int64_t after, int64_t *out, int max);

#endif
