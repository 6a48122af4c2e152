/* SPDX-License-Identifier: MIT */
/* The tables of meta.db, and what makes a database ours. */
#ifndef FENCE_STORE_SQLITE_SCHEMA_H
#define FENCE_STORE_SQLITE_SCHEMA_H

#include "base/errmsg.h"

#include <stdint.h>

#define SCHEMA_APPLICATION_ID INT64_C(0x46654e43) /* "FeNC" */

struct db;

/*
 * All tables, empty but for whose they are, in a fresh database; within a transaction.
 * tree_create() makes the first rows.
 */
int schema_create(struct db *db, const char *uuid);
/*
 * Whether the database is that of store @uuid; which version of the schema it has is for
 * store_migrate.h. -EUCLEAN: not our database.  -EXDEV: it belongs to another store.
 */
int schema_check(struct db *db, const char *uuid, struct errmsg *err);

#endif
