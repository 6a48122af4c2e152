/* SPDX-License-Identifier: MIT */
/* See generation.h. Layer: store. */
#include "store/generation.h"
#include "store/blob/blob.h"
#include "store/sqlite/db.h"
#include "store/sqlite/setting.h"
#include "store/store.h"
#include "store/sqlite/txn.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GENERATION "generation"
#define RESTORED   "restored"
#define TOKEN	   "token" /* the counter of fence/lease_row.c */

static int get(struct db *db, const char *name, int64_t *out)
{
	int err = setting_get(db, name, out);

	if (err == -ENOENT) {
		*out = 0;
		err = 0;
	}
	return err;
}

/* An empty file, as fence init makes it, is 0. */
static int read_file(struct store *s, int64_t *out)
{
	auto_fd int fd = io_open_beneath(store_blobs_fd(s), store_uuid(s), O_RDONLY, 0);
	char text[32] = "", *end;
	long long n;
	ssize_t len;

	if (fd < 0)
		return fd;
	len = io_pread_all(fd, text, sizeof(text) - 1, 0);
	if (len < 0)
		return (int)len;
	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || n < 0 || (len > 0 && strcmp(end, "\n") != 0))
		return -EUCLEAN;
	*out = n;
	return 0;
}

/* On a connection that looks at the database as it is now. */
static int number_now(struct store *s, int64_t *out)
{
	struct db *db;
	int err = store_reader_get(s, &db);

	if (err)
		return err;
	err = get(db, GENERATION, out);
	store_reader_put(s, db);
	return err;
}

int generation_is_restored(struct store *s, struct db *db, bool *out)
{
	int64_t file, number, flag;
	int err = read_file(s, &file);

	if (!err)
		err = get(db, GENERATION, &number);
	if (!err)
		err = get(db, RESTORED, &flag);
	/* What @db sees may be of before the file was read. */
	if (!err && file > number)
		err = number_now(s, &number);
	if (!err)
		*out = file > number || flag;
	return err;
}

static int jump(struct db *db)
{
	int64_t token;
	int err = get(db, TOKEN, &token);

	if (err)
		return err;
	token = token > INT64_MAX - GENERATION_TOKEN_JUMP ? INT64_MAX :
							    token + GENERATION_TOKEN_JUMP;
	err = setting_set(db, TOKEN, token);
	return err ? err : setting_set(db, RESTORED, 1);
}

int generation_advance(struct store *s, struct db *db, int64_t *out, bool *out_restored)
{
	int64_t file, number;
	int err = read_file(s, &file);

	if (!err)
		err = get(db, GENERATION, &number);
	if (err)
		return err;
	if (file == INT64_MAX || number == INT64_MAX)
		return -EUCLEAN;
	if (file > number)
		err = jump(db);
	*out_restored = file > number;
	*out = (file > number ? file : number) + 1;
	return err ? err : setting_set(db, GENERATION, *out);
}

int generation_accept(struct db *db)
{
	return setting_drop(db, RESTORED);
}

/*
 * By rename, so that it is never half written; staging/ is emptied when the store is next served.
 */
int generation_write_file(struct store *s, int64_t generation)
{
	struct blob_id id;
	struct blob_hex name;
	char text[32];
	auto_fd int fd = -1;
	int err = blob_id_new(&id);

	if (!err)
		err = staging_create(s, &id, &fd);
	if (err)
		return err;
	name = blob_hex(id.b);
	snprintf(text, sizeof(text), "%" PRId64 "\n", generation);
	err = io_write_all(fd, text, strlen(text));
	if (!err)
		err = io_fsync(fd);
	if (!err && renameat(store_staging_fd(s), name.s, store_blobs_fd(s), store_uuid(s)) < 0)
		err = -errno;
	if (err) {
		staging_remove(s, &id);
		return err;
	}
	return io_fsync(store_blobs_fd(s));
}

static int advance_durably(struct store *s, int64_t *out, bool *restored)
{
	struct db *db = store_writer(s);
	int err = txn_set_sync(db, true); /* the file must not be ahead of it */

	if (!err)
		err = txn_begin(db);
	if (err)
		return err;
	err = generation_advance(s, db, out, restored);
	if (err) {
		txn_rollback(db);
		return err;
	}
	err = txn_commit(db);
	if (err && err != -ENOSPC && err != -EDQUOT)
		store_set_broken(s);
	return err;
}

int generation_begin(struct store *s, struct errmsg *err)
{
	bool restored = false;
	int64_t generation = 0;
	int res = advance_durably(s, &generation, &restored);

	if (res == -EUCLEAN)
		return errmsg_set(err, res, "%s/blobs/%s should hold a number", store_path(s),
				  store_uuid(s));
	if (!res)
		res = generation_write_file(s, generation);
	if (res)
		return errmsg_set(err, res, "cannot write to %s: %s", store_path(s),
				  strerror(-res));
	if (restored)
		log_warning(
			"store %s: its database is older than its blobs, as after a restore from a"
			" backup; tokens continue 2^32 higher than it says, and gc removes"
			" nothing until it is run with --after-restore",
			store_path(s));
	return 0;
}

/*
 * Only so that copies of the database that were made meanwhile can be told: errors are of no
 * consequence.
 */
void generation_end(struct store *s)
{
	int64_t generation;
	bool restored;

	if (advance_durably(s, &generation, &restored) == 0)
		(void)generation_write_file(s, generation);
}
