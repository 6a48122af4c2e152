/* SPDX-License-Identifier: MIT */
/*
 * From one version of the schema to the next. Layer: store, room sqlite.
 *
 * A change of the schema is one step here, appended to the table in migrate.c, and the same change in
 * the tables of schema.c. Each step runs in one transaction of its own, which raises user_version as
 * its last act: it is done and counted, or neither. store_migrate.h brings STORE/format after it.
 */
#ifndef FENCE_STORE_SQLITE_MIGRATE_H
#define FENCE_STORE_SQLITE_MIGRATE_H

#include <stddef.h>
#include <stdint.h>

struct db;

/* Within a transaction of the writer; -errno undoes all of it. */
typedef int (*migrate_step)(struct db *db);

struct migrations {
	const migrate_step *step; /* step[i]: version i + 1 becomes i + 2 */
	size_t n;
};

/* Those that this program has. */
extern const struct migrations schema_migrations;

/* The version that all of them lead to. */
static inline int64_t migrations_newest(const struct migrations *m)
{
	return (int64_t)m->n + 1;
}

/* user_version. */
int schema_version(struct db *db, int64_t *out);
/*
 * The one step from @version, which is that of the database, to the next; durable when 0. -ENOSPC,
 * -EDQUOT: nothing of it was kept. Any other: it is not known whether; the caller turns the store
 * sticky read-only.
 */
int schema_migrate(struct db *db, const struct migrations *m, int64_t version);

#endif
