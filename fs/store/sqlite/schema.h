/* SPDX-License-Identifier: MIT */
/* The tables of meta.db, and what makes a database ours. */
#ifndef FENCE_STORE_SQLITE_SCHEMA_H
#define FENCE_STORE_SQLITE_SCHEMA_H

#include "base/errmsg.h"

#include <stdint.h>
#include <sys/types.h>

#define SCHEMA_APPLICATION_ID INT64_C(0x46654e43) /* "FeNC" */
#define SCHEMA_VERSION	      INT64_C(1)

struct db;

/*
 * All tables, revision 0 and the root directory, which belongs to @uid and @gid. In a fresh
 * database, outside a transaction.
 */
int schema_create(struct db *db, const char *uuid, uid_t uid, gid_t gid, int64_t now_ns);
/*
 * -EUCLEAN: not our database.  -EPROTONOSUPPORT: a newer schema.  -EXDEV: it belongs to another
 * store than @uuid.
 */
int schema_check(struct db *db, const char *uuid, struct errmsg *err);

#endif
