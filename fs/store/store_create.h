/* SPDX-License-Identifier: MIT */
/* How a store begins; for who makes one of something else. */
#ifndef FENCE_STORE_STORE_CREATE_H
#define FENCE_STORE_STORE_CREATE_H

#include "store/layout.h"

int store_uuid_new(struct store_uuid *out);
/* The last step: the directory @root, complete and durable, becomes store @uuid. */
int store_create_finish(int root, const char *uuid);

#endif
