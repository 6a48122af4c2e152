/* SPDX-License-Identifier: MIT */
/* How a store begins. Layer: store. */
#ifndef FENCE_STORE_STORE_CREATE_H
#define FENCE_STORE_STORE_CREATE_H

#include "base/errmsg.h"

#include <stdint.h>
#include "store/store_create.h"

/*
 * Make a new store at @path (the directory may exist if it is empty): layout of design section 5,
 * all of it fsynced. Its root directory belongs to the calling user with mode 0755.
 * -EEXIST: already a store.  -ENOTEMPTY: a directory with other things in it.  -EOPNOTSUPP: on a
 * network file system.
 */
int store_create(const char *path, struct errmsg *err);
/*
 * For who makes one of something else, the last step: the directory @root, complete and durable,
 * becomes store @uuid of format @version, which is that of its database.
 */
int store_create_finish(int root, const char *uuid, int64_t version);

#endif
