/* SPDX-License-Identifier: MIT */
/* The thread that lets kept sessions expire. For this layer only. */
#ifndef FENCE_CORE_HOUSEKEEPER_H
#define FENCE_CORE_HOUSEKEEPER_H

struct core;

int housekeeper_start(struct core *c);
void housekeeper_stop(struct core *c);

#endif
