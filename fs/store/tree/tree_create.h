/* SPDX-License-Identifier: MIT */
/* What a new store shows. Layer: store, room tree. */
#ifndef FENCE_STORE_TREE_TREE_CREATE_H
#define FENCE_STORE_TREE_TREE_CREATE_H

#include <stdint.h>
#include <sys/types.h>

struct db;

/*
 * Revision 0 and the root directory, which belongs to @uid and @gid, in a database that has its
 * tables (schema_create()); within the same transaction.
 */
int tree_create(struct db *db, uid_t uid, gid_t gid, int64_t now_ns);

#endif
