/* SPDX-License-Identifier: MIT */
/* Permissions once more, at commit. For this layer only. */
#ifndef FENCE_CORE_PUBLISH_COMMIT_ACCESS_H
#define FENCE_CORE_PUBLISH_COMMIT_ACCESS_H

#include "core/publish/change_list.h"

struct db;
struct session;

/*
 * Inside the transaction, before the changes of @list are applied: may who opened @s still make
 * them? -EACCES, and *out_path is the first that it may not; a database error.
 */
int commit_access(struct session *s, struct db *db, const struct change_list *list,
		  const char **out_path);

#endif
