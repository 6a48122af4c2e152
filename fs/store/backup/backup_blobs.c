/* SPDX-License-Identifier: MIT */
/*
 * Copying content. Layer: store.
 *
 * A file gets its name in blobs/ only after it was compared with its hash and made durable, so what
 * has its name and size there is good. Durable by syncfs(2) for many at once: an fsync each would
 * make a million small files take hours.
 */
#include "store/backup/backup_impl.h"
#include "store/sqlite/db.h"
#include "store/tree/entry.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_FILES 128
#define BATCH_BYTES (INT64_C(256) << 20)

struct batch {
	struct blob_hex name[BATCH_FILES];
	int n;
	int64_t bytes;
};

struct fan_name {
	char s[40]; /* "xx/ID" */
};

static struct fan_name fan_name(const struct blob_id *id)
{
	struct blob_hex hex = blob_hex(id->b);
	struct fan_name n;

	snprintf(n.s, sizeof(n.s), "%.2s/%s", hex.s, hex.s);
	return n;
}

static int progress(struct blob_copy *c, int64_t bytes)
{
	c->done += bytes;
	return c->opt->progress ? c->opt->progress(c->opt->arg, c->done, c->total) : 0;
}

static bool is_there(struct blob_copy *c, const struct blob_info *b)
{
	struct stat st;

	return fstatat(c->to->blobs, fan_name(&b->id).s, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && st.st_size == b->size;
}

static int compare(int fd, const struct blob_info *b)
{
	struct blob_hash hash;
	int64_t size;
	int err = hash_fd(fd, &hash, &size);

	if (err)
		return err;
	return size == b->size && memcmp(hash.b, b->hash.b, sizeof(hash.b)) == 0 ? 0 : -EUCLEAN;
}

static int flush_batch(struct blob_copy *c, struct batch *batch)
{
	if (batch->n == 0)
		return 0;
	if (syncfs(c->to->staging) < 0)
		return -errno;
	for (int i = 0; i < batch->n; i++) {
		struct fan_name to;

		snprintf(to.s, sizeof(to.s), "%.2s/%s", batch->name[i].s, batch->name[i].s);
		if (renameat(c->to->staging, batch->name[i].s, c->to->blobs, to.s) < 0)
			return -errno;
	}
	batch->n = 0;
	batch->bytes = 0;
	return 0;
}

static int copy_file(struct blob_copy *c, int from, const struct blob_info *b, struct batch *batch)
{
	struct blob_hex hex = blob_hex(b->id.b);
	auto_fd int to = io_open_beneath(c->to->staging, hex.s, O_RDWR | O_CREAT | O_TRUNC, 0600);
	int err;

	if (to < 0)
		return to;
	err = io_copy(from, to, b->size);
	if (!err)
		err = compare(to, b);
	if (!err && fchmod(to, 0400) < 0)
		err = -errno;
	if (err) {
		(void)unlinkat(c->to->staging, hex.s, 0);
		return err;
	}
	batch->name[batch->n++] = hex;
	batch->bytes += b->size;
	if (batch->n == BATCH_FILES || batch->bytes >= BATCH_BYTES)
		return flush_batch(c, batch);
	return 0;
}

/* 1: linked.  0: it must be copied. */
static int link_file(struct blob_copy *c, int from, const struct blob_info *b)
{
	struct fan_name name = fan_name(&b->id);
	int err = compare(from, b);

	if (err)
		return err;
	if (linkat(c->from, name.s, c->to->blobs, name.s, 0) == 0)
		return 1;
	/* Another file system, or no more links to be had, or a file of another size there. */
	return errno == EXDEV || errno == EMLINK || errno == EPERM || errno == EEXIST ? 0 : -errno;
}

static int fetch(struct blob_copy *c, const struct blob_info *b, struct batch *batch)
{
	auto_fd int from = io_open_beneath(c->from, fan_name(&b->id).s, O_RDONLY, 0);
	struct stat st;
	int res = 0;

	if (from < 0)
		return from == -ELOOP ? -EUCLEAN : from;
	if (fstat(from, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != b->size)
		return -EUCLEAN;
	if (c->opt->link)
		res = link_file(c, from, b);
	return res ? res : copy_file(c, from, b, batch);
}

/* Which version refers to it, for the message. */
static void tell_lost(struct blob_copy *c, const struct blob_id *id, const char *why)
{
	auto_stmt struct stmt *st = NULL;
	char dir[FENCE_PATH_MAX + 1], path[FENCE_PATH_MAX + 1] = "", name[FENCE_NAME_MAX + 1];
	int64_t died, seq = 0;

	if (!c->opt->lost)
		return;
	if (db_stmt(c->db,
		    "SELECT dir, name, died, seq FROM entry WHERE blob = ?1"
		    " ORDER BY died IS NOT NULL, id DESC LIMIT 1",
		    &st) == 0) {
		stmt_blob(st, 1, id->b, sizeof(id->b));
		if (stmt_step(st) > 0 && stmt_get_str(st, 1, name, sizeof(name)) == 0) {
			died = stmt_get_int(st, 2);
			seq = stmt_get_int(st, 3);
			if (entry_path(c->db, stmt_get_int(st, 0), died ? died - 1 : ENTRY_NOW,
				       dir) ||
			    path_join(dir, name, path))
				path[0] = '\0';
		}
	}
	c->opt->lost(c->opt->arg, path, seq, id, why);
}

/* It cannot be had. If the store has forgotten it meanwhile, the database is to be taken again. */
static int lose(struct blob_copy *c, const struct blob_id *id, int why)
{
	struct blob_info info;

	if (why == -ENOENT && c->origin && blob_get(c->origin, id, false, &info) == -ENOENT)
		return -EAGAIN;
	c->result->lost++;
	tell_lost(c, id,
		  why == -ENOENT  ? "it is missing" :
		  why == -EUCLEAN ? "it is not what was sealed" :
				    strerror(-why));
	return 0;
}

static int copy_one(struct blob_copy *c, const struct blob_info *b, struct batch *batch)
{
	int res = 0;

	c->result->blobs++;
	c->result->bytes += b->size;
	if (is_there(c, b))
		return progress(c, b->size);
	res = fetch(c, b, batch);
	if (res == -ENOENT || res == -EUCLEAN || res == -EIO)
		return lose(c, &b->id, res);
	if (res < 0)
		return res;
	c->result->new_blobs++;
	c->result->new_bytes += b->size;
	return progress(c, b->size);
}

static int sum(struct blob_copy *c)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(c->db, "SELECT ifnull(sum(size), 0) FROM blob WHERE data IS NULL", &st);

	if (!res)
		res = stmt_step(st);
	if (res > 0)
		c->total = stmt_get_int(st, 0);
	return res < 0 ? res : 0;
}

static int load(struct stmt *st, struct blob_info *out)
{
	int err = stmt_get_bytes(st, 0, out->id.b, sizeof(out->id.b));

	out->size = stmt_get_int(st, 1);
	return err ? err : stmt_get_bytes(st, 2, out->hash.b, sizeof(out->hash.b));
}

int backup_copy_blobs(struct blob_copy *c)
{
	auto_stmt struct stmt *st = NULL;
	struct batch batch = { .n = 0 };
	int res = sum(c);

	if (!res)
		res = db_stmt(c->db,
			      "SELECT id, size, hash FROM blob WHERE data IS NULL ORDER BY n", &st);
	if (res)
		return res;
	while ((res = stmt_step(st)) > 0) {
		struct blob_info b = { .size = 0 };

		res = load(st, &b);
		if (!res)
			res = copy_one(c, &b, &batch);
		if (res < 0)
			return res;
	}
	if (!res)
		res = flush_batch(c, &batch);
	if (!res && syncfs(c->to->blobs) < 0)
		res = -errno;
	return res;
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int is_known(struct db *db, const struct blob_id *id)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(db, "SELECT 1 FROM blob WHERE id = ?1 AND data IS NULL", &st);

	if (res)
		return res;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	return stmt_step(st);
}

static int drop_in(struct backup_dir *b, struct db *db, const char *fan)
{
	__attribute__((cleanup(cleanup_dir))) DIR *d = NULL;
	int fd = io_open_beneath(b->blobs, fan, O_RDONLY | O_DIRECTORY, 0), count = 0;
	const struct dirent *e;
	struct blob_id id;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		int res = blob_hex_parse(e->d_name, id.b) ? 1 : is_known(db, &id);

		if (res < 0)
			return res;
		if (res == 0 && unlinkat(dirfd(d), e->d_name, 0) < 0)
			return -errno;
		count += res == 0;
	}
	return count;
}

int backup_drop_unknown(struct backup_dir *b, struct db *db)
{
	int count = 0;

	for (unsigned int n = 0; n < 256; n++) {
		char fan[3];
		int res;

		snprintf(fan, sizeof(fan), "%02x", n & 0xff);
		res = drop_in(b, db, fan);
		if (res < 0)
			return res;
		count += res;
	}
	return count;
}
