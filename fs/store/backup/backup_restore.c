/* SPDX-License-Identifier: MIT */
/*
 * A store from a backup. Layer: store.
 *
 * Tokens (P7): since the backup the lost store may have issued any number of them, of which the
 * backup knows nothing. The counter jumps by TOKEN_JUMP, more than leases can be granted in
 * between, so every token from now on is above all of those. Fences are what they were; one that
 * was raised since the backup is back where it was, but whoever takes a lease raises it above all
 * of those.
 *
 * The UUID is new: the lost store may turn up again, and then there are two.
 */
#include "store/backup/backup_impl.h"
#include "store/sqlite/db.h"
#include "store/generation.h"
#include "store/tree/revision.h"
#include "store/tree/session_row.h"
#include "store/sqlite/setting.h"
#include "store/sqlite/migrate.h"
#include "store/sqlite/schema.h"
#include "store/store_create.h"
#include "store/store_lock.h"
#include "store/sqlite/txn.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/uuid.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_JUMP (INT64_C(1) << 32)
/* Above that are runaway tokens of somebody's, which are to be reset and not to be followed. */
#define TOKEN_SANE (INT64_C(1) << 62)

static void cleanup_db(struct db **db)
{
	db_close(*db);
}
#define auto_db __attribute__((cleanup(cleanup_db)))

/* The directory, empty or with what a restore has left that was cut off. */
static int open_root(const char *path, struct backup_dir *d, struct errmsg *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return errmsg_set(err, -errno, "cannot make %s: %s", path, strerror(errno));
	d->path = path;
	d->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->root < 0)
		return errmsg_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	if (faccessat(d->root, LAYOUT_FORMAT, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return errmsg_set(err, -EEXIST, "%s is a store already", path);
	if (layout_is_empty(d->root) <= 0 && layout_is_unfinished(d->root) <= 0)
		return errmsg_set(err, -ENOTEMPTY, "%s is not empty", path);
	if (fchmod(d->root, 0700) < 0)
		return errmsg_set(err, -errno, "cannot change the mode of %s: %s", path,
				  strerror(errno));
	(void)unlinkat(d->root, LAYOUT_FORMAT_NEW, 0);
	return layout_db_path(d->root, path, d->db, err);
}

static int make_dir(const char *path, struct backup_dir *d, struct errmsg *err)
{
	int res = open_root(path, d, err);

	if (!res)
		res = layout_check_fs(d->root, path, err);
	if (res)
		return res;
	res = backup_dir_fill(d);
	if (res)
		return errmsg_set(err, res, "cannot write to %s: %s", path, strerror(-res));
	return store_lock_take(d->root, path, NULL, &d->lock, err);
}

static int get_int(struct db *db, const char *sql, int64_t *out)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, sql, &st);

	if (!res)
		res = stmt_step(st);
	if (res > 0)
		*out = stmt_get_int(st, 0);
	return res < 0 ? res : 0;
}

static int set_text(struct db *db, const char *name, const char *value)
{
	auto_stmt struct stmt *st = NULL;
	int err = db_stmt(db, "INSERT OR REPLACE INTO setting(name, value) VALUES(?1, ?2)", &st);

	if (err)
		return err;
	stmt_text(st, 1, name);
	stmt_text(st, 2, value);
	return stmt_run(st);
}

static int jump(struct db *db, struct restore_result *out)
{
	auto_stmt struct stmt *st = NULL;
	int64_t highest = 0;
	int err = setting_get(db, "token", &out->token_before);

	if (err == -ENOENT)
		err = 0;
	if (!err)
		err = db_stmt(db, "SELECT ifnull(max(token), 0) FROM fence WHERE token <= ?1", &st);
	if (err)
		return err;
	stmt_int(st, 1, TOKEN_SANE);
	err = stmt_step(st);
	if (err < 0)
		return err;
	highest = stmt_get_int(st, 0);
	if (highest < out->token_before)
		highest = out->token_before;
	if (highest > INT64_MAX - TOKEN_JUMP)
		return -ERANGE;
	out->token_after = highest + TOKEN_JUMP;
	return setting_set(db, "token", out->token_after);
}

static int drop_owners(struct db *db, struct restore_result *out)
{
	int err = get_int(db, "SELECT count(*) FROM fence WHERE lease_owner IS NOT NULL",
			  &out->leases);

	if (!err)
		err = get_int(db, "SELECT count(*) FROM session WHERE outcome = 0", &out->sessions);
	if (!err)
		err = db_exec(db, "UPDATE fence SET lease_owner = NULL, lease_ttl = NULL,"
				  " lease_expires = NULL WHERE lease_owner IS NOT NULL");
	return err ? err : session_rows_abort_open(db);
}

/* What was done stays to be read in table setting. */
static int adjust(struct db *db, struct restore_result *out)
{
	int err = jump(db, out);

	if (!err)
		err = drop_owners(db, out);
	if (!err) /* blobs/ will hold what the database knows, and nothing else */
		err = generation_accept(db);
	if (!err)
		err = set_text(db, "uuid", out->uuid);
	if (!err)
		err = set_text(db, "restored_from", out->uuid_before);
	if (!err)
		err = setting_set(db, "restored_at", io_now_ns());
	if (!err)
		err = setting_set(db, "restored_revision", out->copied.revision);
	return err ? err : setting_set(db, "restored_token", out->token_before);
}

static int adjust_db(struct backup_dir *d, struct restore_result *out)
{
	auto_db struct db *db = NULL;
	int err = db_open(d->db, DB_WRITE, &db, NULL);

	if (!err)
		err = txn_begin(db);
	if (err)
		return err;
	err = adjust(db, out);
	if (err) {
		txn_rollback(db);
		return err;
	}
	err = txn_commit(db);
	return err ? err : db_checkpoint(db, true);
}

static int name_blobs(struct backup_dir *d, const char *uuid)
{
	auto_fd int fd = io_open_beneath(d->blobs, uuid, O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		return fd;
	return syncfs(d->blobs) < 0 ? -errno : 0;
}

static int note_revision(struct db *db, struct backup_result *out)
{
	int err = revision_current(db, &out->revision);

	return err ? err :
		     get_int(db, "SELECT at FROM revision ORDER BY revision DESC LIMIT 1",
			     &out->at);
}

static int fill(struct db *db, struct backup_dir *from, struct backup_dir *to,
		const struct backup_options *opt, struct restore_result *out)
{
	struct blob_copy c = {
		.from = from->blobs,
		.to = to,
		.db = db,
		.opt = opt,
		.result = &out->copied,
	};
	/* Of an older backup it is an older store, which is migrated when it is opened first. */
	int64_t version = 0;
	int err = note_revision(db, &out->copied);

	if (!err)
		err = backup_copy_blobs(&c);
	if (!err)
		err = backup_copy_db(db, to, LAYOUT_DB, opt);
	if (!err)
		err = adjust_db(to, out);
	if (!err)
		err = name_blobs(to, out->uuid);
	if (!err)
		err = schema_version(db, &version);
	return err ? err : store_create_finish(to->root, out->uuid, version);
}

static int check_db(struct db *db, const struct backup_dir *from, struct errmsg *err)
{
	int64_t version = 0;
	int res = schema_check(db, from->uuid, err);

	if (res)
		return res;
	res = schema_version(db, &version);
	if (res)
		return errmsg_set(err, res, "cannot read the database of the backup: %s",
				  strerror(-res));
	return layout_check_version(from->path, version, migrations_newest(&schema_migrations),
				    err);
}

int backup_restore(const char *src, const char *path, const struct backup_options *opt,
		   struct restore_result *out, struct errmsg *err)
{
	auto_backup_dir struct backup_dir from = BACKUP_DIR_CLOSED, to = BACKUP_DIR_CLOSED;
	auto_db struct db *db = NULL;
	struct uuid uuid;
	int res = backup_dir_open(src, &from, err);

	*out = (struct restore_result){ .token_before = 0 };
	if (!res)
		res = db_open(from.db, DB_READ, &db, err);
	if (!res)
		res = check_db(db, &from, err);
	if (!res)
		res = make_dir(path, &to, err);
	if (res)
		return res;
	res = uuid_new(&uuid);
	memcpy(out->uuid, uuid.s, sizeof(out->uuid));
	memcpy(out->uuid_before, from.uuid, sizeof(out->uuid_before));
	if (!res)
		res = fill(db, &from, &to, opt, out);
	if (res && res != -EINTR)
		return errmsg_set(err, res, "%s is not a store yet: %s", path,
				  res == -EUCLEAN ? "the database of the backup is damaged" :
						    strerror(-res));
	return res;
}
