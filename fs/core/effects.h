/* SPDX-License-Identifier: MIT */
/*
 * What follows from a durable transaction: the one place, for every kind of request. Layer: core,
 * room publish. Notifier's thread.
 */
#ifndef FENCE_CORE_EFFECTS_H
#define FENCE_CORE_EFFECTS_H

struct changed;

/* @core: struct core. Returns when the changes are visible and everybody concerned was told. */
void effects_of(void *core, const struct changed *rows);

#endif
