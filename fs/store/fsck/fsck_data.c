/* SPDX-License-Identifier: MIT */
/*
 * Invariant 21: content and its hash. Layer: store.
 *
 * The kernel's cached pages of a file are dropped first, so that the disk is what is checked,
 * unless they are what is asked about.
 */
#include "store/blob/damaged.h"
#include "store/fsck/fsck_impl.h"
#include "store/blob/hash.h"
#include "store/store.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PIECE	   ((size_t)1 << 20)
#define RECHECKS   10
#define RECHECK_NS 50000000

static int load(struct fsck *f, struct stmt *st, bool marks, struct fsck_blob *out)
{
	struct fsck_blob b = {
		.n = stmt_get_int(st, 0),
		.size = stmt_get_int(st, 2),
		.is_inline = stmt_get_int(st, 4) != 0,
	};
	int res = stmt_get_bytes(st, 1, b.id.b, sizeof(b.id.b));

	if (!res)
		res = stmt_get_bytes(st, 3, b.hash.b, sizeof(b.hash.b));
	if (!res && marks)
		res = damaged_is_marked(f->db, &b.id);
	if (res < 0)
		return res;
	b.is_marked = res > 0;
	*out = b;
	return 0;
}

int fsck_blobs(struct fsck *f, int64_t after, struct fsck_blob *out, int max)
{
	auto_stmt struct stmt *st = NULL;
	int n = 0, res, marks = damaged_any(f->db);

	if (marks < 0)
		return marks;
	res = db_stmt(
		f->db,
		"SELECT n, id, size, hash, data IS NOT NULL FROM blob WHERE n > ?1 ORDER BY n",
		&st);
	if (res)
		return res;
	stmt_int(st, 1, after);
	db_tolerate(f->db, DB_ALL);
	while (n < max && (res = stmt_step(st)) > 0) {
		/* What is malformed was told of by invariant 14. */
		if (load(f, st, marks, &out[n]) == 0)
			n++;
	}
	db_tolerate(f->db, DB_STRICT);
	return res < 0 ? res : n;
}

int fsck_blobs_total(struct fsck *f, int64_t after, int64_t *out_n, int64_t *out_bytes)
{
	auto_stmt struct stmt *st = NULL;
	int res =
		db_stmt(f->db, "SELECT count(*), ifnull(sum(size), 0) FROM blob WHERE n > ?1", &st);

	if (res)
		return res;
	stmt_int(st, 1, after);
	db_tolerate(f->db, DB_ALL);
	res = stmt_step(st);
	db_tolerate(f->db, DB_STRICT);
	if (res <= 0)
		return res ? res : -EUCLEAN;
	*out_n = stmt_get_int(st, 0);
	*out_bytes = stmt_get_int(st, 1);
	return 0;
}

static int read_file(int fd, const struct fsck_blob *b, int (*pace)(void *, int64_t), void *arg,
		     struct blob_hash *out)
{
	auto_hash_state struct hash_state *h = hash_begin();
	size_t room = b->size < (int64_t)PIECE ? (size_t)b->size : PIECE;
	auto_free char *buf = malloc(room);
	int64_t at = 0;

	if (!h || !buf)
		return -ENOMEM;
	if (!b->is_cached)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	while (at < b->size) {
		ssize_t n = io_pread_all(fd, buf, room, at);
		int res;

		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		hash_add(h, buf, (size_t)n);
		at += n;
		res = pace ? pace(arg, n) : 0;
		if (res)
			return res;
	}
	hash_end(h, out);
	return 0;
}

static int read_inline(struct store *s, const struct fsck_blob *b, struct blob_hash *out)
{
	struct blob_info info = { .data = NULL };
	struct db *db;
	int err = store_reader_get(s, &db);

	if (err)
		return err;
	err = blob_get(db, &b->id, true, &info);
	store_reader_put(s, db);
	if (err)
		return err;
	if (info.data)
		hash_buf(info.data, (size_t)info.size, out);
	free(info.data);
	return info.is_inline ? 0 : -EUCLEAN;
}

int fsck_read(struct store *s, const struct fsck_blob *b, int (*pace)(void *arg, int64_t bytes),
	      void *arg, enum fsck_state *out, int *out_err)
{
	struct blob_hash hash = { { 0 } };
	auto_fd int fd = -1;
	int err = b->is_inline ? read_inline(s, b, &hash) : blob_open(s, &b->id, b->size, &fd);

	if (!err && !b->is_inline)
		err = read_file(fd, b, pace, arg, &hash);
	else if (!err && pace)
		err = pace(arg, b->size);
	*out_err = err;
	if (!err)
		*out = memcmp(hash.b, b->hash.b, sizeof(hash.b)) == 0 ? FSCK_GOOD : FSCK_BAD_HASH;
	else if (err == -ENOENT)
		*out = FSCK_MISSING;
	else if (err == -EUCLEAN || err == -ELOOP)
		*out = FSCK_BAD_SIZE;
	else if (err == -EIO || err == -EACCES)
		*out = FSCK_UNREADABLE;
	else
		return err; /* ours, not the content's; or pace wants to stop */
	return 0;
}

/* Is it still there to be missed? gc takes the row and the file away together, nearly. */
static int is_wanted(struct fsck *f, const struct fsck_blob *b, enum fsck_state state)
{
	const struct timespec wait = { .tv_nsec = RECHECK_NS };
	struct blob_info info;
	int err = 0;

	for (int i = 0; !err && i < RECHECKS; i++) {
		err = blob_get(f->db, &b->id, false, &info);
		if (state != FSCK_MISSING || !f->opt.is_live)
			break;
		if (!err)
			nanosleep(&wait, NULL);
	}
	if (err == -ENOENT)
		return 0;
	return err && err != -EUCLEAN ? err : 1;
}

static void describe(struct fsck_finding *x, const struct fsck_blob *b, enum fsck_state state,
		     int err)
{
	enum fsck_rule rule = b->is_inline ? FSCK_BLOB_FIELDS : FSCK_BLOB_FILE;
	struct blob_hex hex = blob_hex(b->id.b);

	switch (state) {
	case FSCK_GOOD:
	case FSCK_BAD_HASH:
		fsck_finding_init(x, FSCK_CONTENT, "the content of blob %s is not what was sealed",
				  hex.s);
		break;
	case FSCK_MISSING:
		fsck_finding_init(x, rule, "blob %s is missing", hex.s);
		break;
	case FSCK_BAD_SIZE:
		fsck_finding_init(x, rule, "blob %s is not a file of %" PRId64 " bytes", hex.s,
				  b->size);
		break;
	case FSCK_UNREADABLE:
		fsck_finding_init(x, rule, "blob %s cannot be read: %s", hex.s, strerror(-err));
		break;
	}
}

int fsck_judge(struct fsck *f, const struct fsck_blob *b, enum fsck_state state, int err)
{
	struct fsck_finding x;
	int res;

	if (state == FSCK_GOOD)
		return 0;
	res = is_wanted(f, b, state);
	if (res <= 0)
		return res;
	if (b->is_marked) /* invariant 22 has told */
		return 1;
	describe(&x, b, state, err);
	fsck_name_blob(f, &b->id, &x);
	x.action = FSCK_SET_FILE_ASIDE;
	res = fsck_report(f, &x);
	return res ? res : 1;
}
