/* SPDX-License-Identifier: MIT */
/* See migrate.h. Layer: store, room sqlite. */
#include "store/sqlite/migrate.h"
#include "store/sqlite/db.h"
#include "store/sqlite/txn.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* Version 1 is the first. */
const struct migrations schema_migrations = { .step = NULL, .n = 0 };

int schema_version(struct db *db, int64_t *out)
{
	return db_int(db, "PRAGMA user_version", out);
}

static int set_version(struct db *db, int64_t version)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA user_version = %" PRId64, version);
	return db_exec(db, sql);
}

int schema_migrate(struct db *db, const struct migrations *m, int64_t version)
{
	int err;

	if (version < 1 || version >= migrations_newest(m))
		return -EINVAL;
	err = txn_set_sync(db, true);
	if (!err)
		err = txn_begin(db);
	if (err)
		return err;
	err = m->step[version - 1](db);
	if (!err)
		err = set_version(db, version + 1);
	if (err) {
		txn_rollback(db);
		return err;
	}
	return txn_commit(db);
}
