/* SPDX-License-Identifier: MIT */
/*
 * The schema. Names, paths and link targets are blobs, compared byte by byte; times are
 * nanoseconds. Layer: store.
 */
#include "store/sqlite/schema.h"
#include "store/sqlite/db.h"
#include "store/sqlite/migrate.h"
#include "base/uuid.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * entry: every version of every name. entry_current finds a name, entry_past what it was,
 * entry_child and entry_child_past the same for the entry of a directory, given its id.
 * blob: by number of arrival, with an index of ids. Keyed by its random id, content would lie in
 * random places, and each split of a page would move it (11 pages written for 4 KiB instead of 5).
 * fence: lease columns are those of a lease under this row's token; NULL when there is none.
 * event: what happened, in order, for watching and for looking back; bounded.
 * garbage: also of files in blobs/ that no row of blob names.
 * dirtime: when the set of names of a directory changed without a new version of the directory's
 * own entry.
 */
static const char tables[] =
	"CREATE TABLE setting("
	" name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;"

	"CREATE TABLE entry("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" dir INTEGER NOT NULL, name BLOB NOT NULL,"
	" born INTEGER NOT NULL, died INTEGER, seq INTEGER NOT NULL,"
	" kind INTEGER NOT NULL, child INTEGER, blob BLOB, size INTEGER NOT NULL,"
	" mode INTEGER NOT NULL, uid INTEGER NOT NULL, gid INTEGER NOT NULL,"
	" mtime INTEGER NOT NULL, token INTEGER NOT NULL, target BLOB,"
	" owner TEXT NOT NULL, op TEXT) STRICT;"
	"CREATE UNIQUE INDEX entry_current ON entry(dir, name) WHERE died IS NULL;"
	"CREATE INDEX entry_past ON entry(dir, name, born);"
	"CREATE UNIQUE INDEX entry_child ON entry(child) WHERE child IS NOT NULL AND died IS NULL;"
	"CREATE INDEX entry_child_past ON entry(child, born) WHERE child IS NOT NULL;"

	"CREATE TABLE xattr("
	" entry INTEGER NOT NULL, name BLOB NOT NULL, value BLOB NOT NULL,"
	" PRIMARY KEY(entry, name)) STRICT, WITHOUT ROWID;"

	"CREATE TABLE dirtime("
	" dir INTEGER NOT NULL, revision INTEGER NOT NULL, mtime INTEGER NOT NULL,"
	" PRIMARY KEY(dir, revision)) STRICT, WITHOUT ROWID;"

	"CREATE TABLE blob("
	" n INTEGER PRIMARY KEY, id BLOB NOT NULL, size INTEGER NOT NULL, hash BLOB NOT NULL,"
	" data BLOB) STRICT;"
	"CREATE UNIQUE INDEX blob_id ON blob(id);"

	"CREATE TABLE garbage("
	" blob BLOB PRIMARY KEY, since INTEGER NOT NULL) STRICT, WITHOUT ROWID;"

	"CREATE TABLE fence("
	" path BLOB PRIMARY KEY, token INTEGER NOT NULL, seq INTEGER NOT NULL,"
	" updated INTEGER NOT NULL, owner TEXT NOT NULL,"
	" lease_owner TEXT, lease_ttl INTEGER, lease_expires INTEGER) STRICT, WITHOUT ROWID;"
	"CREATE INDEX fence_lease ON fence(path) WHERE lease_owner IS NOT NULL;"

	"CREATE TABLE revision("
	" revision INTEGER PRIMARY KEY, at INTEGER NOT NULL, path BLOB NOT NULL,"
	" token INTEGER NOT NULL, owner TEXT NOT NULL, op TEXT, session TEXT,"
	" changed INTEGER NOT NULL, once INTEGER NOT NULL) STRICT;"
	"CREATE INDEX revision_op ON revision(path, op) WHERE op IS NOT NULL;"
	"CREATE INDEX revision_once ON revision(path, token) WHERE once = 1;"

	"CREATE TABLE session("
	" n INTEGER PRIMARY KEY, id TEXT NOT NULL, path BLOB NOT NULL, token INTEGER NOT NULL,"
	" owner TEXT NOT NULL, uid INTEGER NOT NULL, opened INTEGER NOT NULL,"
	" outcome INTEGER NOT NULL, revision INTEGER NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX session_id ON session(id);"
	"CREATE INDEX session_open ON session(n) WHERE outcome = 0;"

	"CREATE TABLE reject("
	" id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL,"
	" path BLOB NOT NULL, held_path BLOB NOT NULL,"
	" token INTEGER NOT NULL, highest INTEGER NOT NULL, held_by TEXT NOT NULL,"
	" owner TEXT NOT NULL, op TEXT, session TEXT, stage TEXT NOT NULL, why TEXT NOT NULL,"
	" uid INTEGER NOT NULL, blob BLOB, size INTEGER NOT NULL) STRICT;"
	"CREATE TABLE event("
	" id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind INTEGER NOT NULL,"
	" revision INTEGER NOT NULL, path BLOB NOT NULL, token INTEGER NOT NULL,"
	" owner TEXT NOT NULL, uid INTEGER NOT NULL, highest INTEGER NOT NULL, other TEXT,"
	" detail TEXT, n INTEGER NOT NULL) STRICT;"
	"CREATE INDEX event_revision ON event(revision);"

	"CREATE INDEX reject_op ON reject(op) WHERE op IS NOT NULL;"
	"CREATE INDEX reject_blob ON reject(blob) WHERE blob IS NOT NULL;"
	"CREATE INDEX reject_bare ON reject(id) WHERE blob IS NULL;";

static int add_identity(struct db *db, const char *uuid)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, "INSERT INTO setting(name, value) VALUES('uuid', ?1)", &st);

	if (err)
		return err;
	stmt_text(st, 1, uuid);
	return stmt_run(st);
}

static int set_marks(struct db *db)
{
	char sql[96];

	snprintf(sql, sizeof(sql),
		 "PRAGMA application_id = %" PRId64 "; PRAGMA user_version = %" PRId64,
		 SCHEMA_APPLICATION_ID, migrations_newest(&schema_migrations));
	return db_exec(db, sql);
}

int schema_create(struct db *db, const char *uuid)
{
	int err = db_exec(db, tables);

	if (!err)
		err = set_marks(db);
	return err ? err : add_identity(db, uuid);
}

static int check_uuid(struct db *db, const char *uuid, struct errmsg *err)
{
	auto_stmt struct stmt *st = NULL;
	char have[UUID_LEN + 1];
	int res = db_stmt(db, "SELECT value FROM setting WHERE name = 'uuid'", &st);

	if (res)
		return res;
	res = stmt_step(st);
	if (res < 0)
		return errmsg_set(err, res, "meta.db is damaged: " DB_DAMAGED_REMEDY);
	res = res ? stmt_get_str(st, 0, have, sizeof(have)) : -EUCLEAN;
	if (res)
		return errmsg_set(err, res, "meta.db does not say which store it belongs to");
	if (strcmp(have, uuid) != 0)
		return errmsg_set(err, -EXDEV, "meta.db belongs to store %s, not to this one (%s)",
				  have, uuid);
	return 0;
}

int schema_check(struct db *db, const char *uuid, struct errmsg *err)
{
	int64_t app = 0, version = 0;
	int res = db_int(db, "PRAGMA application_id", &app);

	if (!res)
		res = db_int(db, "PRAGMA user_version", &version);
	if (res)
		return errmsg_set(err, res, "meta.db cannot be read: " DB_DAMAGED_REMEDY);
	if (app != SCHEMA_APPLICATION_ID || version < 1)
		return errmsg_set(err, -EUCLEAN, "meta.db is not the database of a fencefs store");
	/* A newer one may keep it elsewhere: store_migrate.h says what is to be done about that. */
	if (version > migrations_newest(&schema_migrations))
		return 0;
	return check_uuid(db, uuid, err);
}
