/* SPDX-License-Identifier: MIT */
/*
 * Files in blobs/ that no row names: content of a commit that a crash stopped, or of a sweep that
 * one stopped after its transaction. And all else that is there: names that are not ours are
 * counted and left alone, the mark of another store ends the pass. Layer: store.
 *
 * What rows a directory should show decides nothing here, so a listing that is cut short removes
 * nothing wrongly; but it is a sign that the disk cannot be read, so it ends the pass too: a
 * listing must have "." and ".." in it, and of the rows without a file some are looked up by name.
 */
#include "store/gc/gc_impl.h"

#include "store/sqlite/db.h"
#include "store/store.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/uuid.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FANS   256
#define SAMPLE 64 /* rows without a file that are looked up in each directory */

struct listing {
	struct gc *gc;
	unsigned int fan;
	struct blob_id *id; /* owned; ascending */
	size_t n, room, at;
	int dots; /* "." and ".." */
	int sampled;
	struct gc_batch marks, unmarks;
};

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define auto_dir __attribute__((cleanup(cleanup_dir)))

static void foreign(struct gc *gc, const char *fan, const char *name)
{
	if (gc->report->foreign++ == 0)
		snprintf(gc->report->foreign_name, sizeof(gc->report->foreign_name), "%.2s%s%.58s",
			 fan, *fan ? "/" : "", name);
}

static int open_dir(struct gc *gc, const char *name, DIR **out)
{
	auto_fd int fd = io_open_beneath(store_blobs_fd(gc->s), name, O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	*out = fdopendir(fd);
	if (!*out)
		return -errno;
	take_fd(&fd);
	return 0;
}

/* 1 and the next name; 0 at the end. */
static int next(DIR *d, const struct dirent **out)
{
	errno = 0;
	*out = readdir(d);
	return *out ? 1 : -errno;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A regular file named by an id that belongs in this directory. */
static bool is_blob(int dir, unsigned int fan, const char *name, struct blob_id *out)
{
	struct stat st;

	return blob_hex_parse(name, out->b) == 0 && out->b[0] == fan &&
	       fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static int add_file(struct listing *l, const struct blob_id *id)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 4096;
		struct blob_id *grown = reallocarray(l->id, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		l->id = grown;
		l->room = room;
	}
	l->id[l->n++] = *id;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct blob_id));
}

static int list(struct listing *l, const char *name)
{
	auto_dir DIR *d = NULL;
	const struct dirent *e;
	int res = open_dir(l->gc, name, &d);

	if (res)
		return res;
	l->n = l->at = 0;
	l->dots = 0;
	while ((res = next(d, &e)) > 0) {
		struct blob_id id;
		int err = 0;

		if (is_dots(e->d_name))
			l->dots++;
		else if (is_blob(dirfd(d), l->fan, e->d_name, &id))
			err = add_file(l, &id);
		else
			foreign(l->gc, name, e->d_name);
		if (err)
			return err;
	}
	if (res == 0 && l->dots != 2)
		res = -EIO;
	if (l->n)
		qsort(l->id, l->n, sizeof(*l->id), compare);
	return res;
}

/* A file that no row names. */
static int orphan(struct listing *l, const struct blob_id *id)
{
	struct gc_item item = { .id = *id, .kind = GARBAGE_CRASHED, .is_file = true };
	auto_stmt struct stmt *st = NULL;
	int res;

	if (!l->gc->opt->dry_run)
		return gc_mark_add(&l->marks, &item);
	res = db_stmt(l->gc->db, "SELECT since FROM garbage WHERE blob = ?1", &st);
	if (res)
		return res;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	res = stmt_step(st);
	item.since = res > 0 ? stmt_get_int(st, 0) : l->gc->now;
	return res < 0 ? res : gc_account(l->gc, &item);
}

/* A row without a file here: of inline content; or the listing was short, or content is lost. */
static int sample(struct listing *l, const struct blob_id *id)
{
	struct blob_info info;
	int64_t size;
	int err;

	if (l->sampled == SAMPLE)
		return 0;
	l->sampled++;
	err = blob_get(l->gc->db, id, false, &info);
	if (err || info.is_inline)
		return err == -ENOENT ? 0 : err;
	err = blob_file_size(l->gc->s, id, &size);
	if (!err)
		return -EAGAIN;
	l->gc->report->missing += err == -ENOENT;
	return err == -ENOENT ? 0 : err;
}

/* Rows go up in step with files; between two rows lie the files of nobody. */
static int row(struct listing *l, const struct blob_id *id, int64_t n)
{
	int order = 1, err = 0;

	while (l->at < l->n && (order = compare(&l->id[l->at], id)) < 0 && !err)
		err = orphan(l, &l->id[l->at++]);
	if (err)
		return err;
	if (l->at < l->n && order == 0) {
		l->at++;
		return 0;
	}
	/* Rows that have come since the scan began may be younger than the listing. */
	return n <= l->gc->last_blob ? sample(l, id) : 0;
}

/* The rows after *after in this fan. How many. */
static int read_rows(struct listing *l, struct blob_id *after, bool from_start)
{
	struct blob_id end, from = *after; /* bound while *after moves on */
	auto_stmt struct stmt *st = NULL;
	int count = 0, res = db_stmt(l->gc->db,
				     "SELECT id, n FROM blob INDEXED BY blob_id WHERE id > ?1 AND"
				     " id <= ?2 ORDER BY id LIMIT ?3",
				     &st);

	if (res)
		return res;
	memset(end.b, 0xff, sizeof(end.b));
	end.b[0] = (uint8_t)l->fan;
	stmt_blob(st, 1, from.b, from_start ? 1 : sizeof(from.b));
	stmt_blob(st, 2, end.b, sizeof(end.b));
	stmt_int(st, 3, GC_ROWS);
	while ((res = stmt_step(st)) > 0) {
		int err = stmt_get_bytes(st, 0, after->b, sizeof(after->b));

		if (!err)
			err = row(l, after, stmt_get_int(st, 1));
		if (err)
			return err;
		count++;
	}
	return res < 0 ? res : count;
}

/* The files are listed before the rows are read: who is published in between has a row. */
static int compare_fan(struct listing *l)
{
	struct blob_id after = { .b = { (uint8_t)l->fan } };
	char name[3];
	int res;

	snprintf(name, sizeof(name), "%02x", l->fan & 0xff);
	l->sampled = 0;
	res = list(l, name);
	if (res)
		return errmsg_set(l->gc->err, res,
				  "cannot read all of blobs/%s, so nothing is removed: %s", name,
				  strerror(-res));
	for (bool first = true;; first = false) {
		res = read_rows(l, &after, first);
		if (res == -EAGAIN)
			return errmsg_set(l->gc->err, -EIO,
					  "blobs/%s has files that its listing does not show, so"
					  " nothing is removed",
					  name);
		if (res <= 0)
			break;
	}
	while (!res && l->at < l->n)
		res = orphan(l, &l->id[l->at++]);
	return res;
}

static bool is_uuid(const char *name)
{
	if (strlen(name) != UUID_LEN || strspn(name, "0123456789abcdef-") != UUID_LEN)
		return false;
	return name[8] == '-' && name[13] == '-' && name[18] == '-' && name[23] == '-';
}

static bool is_fan(const char *name)
{
	return strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

static int check_top(struct gc *gc)
{
	auto_dir DIR *d = NULL;
	const struct dirent *e;
	int fans = 0, dots = 0, res = open_dir(gc, ".", &d);

	while (!res && (res = next(d, &e)) > 0) {
		res = 0;
		if (is_dots(e->d_name))
			dots++;
		else if (is_fan(e->d_name))
			fans++;
		else if (is_uuid(e->d_name) && strcmp(e->d_name, store_uuid(gc->s)) != 0)
			return errmsg_set(
				gc->err, -EXDEV,
				"blobs/ is used by store %s as well: what is garbage here may be "
				"in use there",
				e->d_name);
		else if (!is_uuid(e->d_name))
			foreign(gc, "", e->d_name);
	}
	if (!res && (dots != 2 || fans != FANS))
		return errmsg_set(gc->err, -EIO,
				  "blobs/ has %d of its 256 directories, so nothing is"
				  " removed; run fence fsck",
				  fans);
	return gc_fail(gc, res, "cannot read blobs/, so nothing is removed");
}

/* Marks of files that are no more: a sweep ended between its unlinks and its next pass. */
static int is_lost_mark(struct gc *gc, const struct gc_item *item)
{
	struct blob_info info;
	int64_t size;
	int err = blob_get(gc->db, &item->id, false, &info);

	if (err != -ENOENT)
		return err;
	err = blob_file_size(gc->s, &item->id, &size);
	return err == -ENOENT ? 1 : err;
}

static void cleanup_listing(struct listing **l)
{
	if (*l)
		free((*l)->id);
	free(*l);
}

static int drop_lost_marks(struct gc *gc, struct gc_batch *unmarks)
{
	struct gc_item *mark = calloc(GC_BATCH, sizeof(*mark));
	struct blob_id after = { .b = { 0 } };
	int res = mark ? 1 : -ENOMEM;

	for (bool first = true; res > 0; first = false) {
		int n = res = gc_load_marks(gc, &after, first, mark);

		for (int i = 0; i < n && res > 0; i++) {
			int lost = is_lost_mark(gc, &mark[i]);

			if (lost > 0)
				lost = gc_unmark_add(unmarks, &mark[i]);
			res = lost < 0 ? lost : res;
		}
		if (n > 0)
			after = mark[n - 1].id;
	}
	free(mark);
	return res < 0 ? res : gc_unmark_flush(unmarks);
}

int gc_files(struct gc *gc)
{
	__attribute__((cleanup(cleanup_listing))) struct listing *l = calloc(1, sizeof(*l));
	int err = l ? check_top(gc) : -ENOMEM;

	if (err)
		return err;
	l->gc = l->marks.gc = l->unmarks.gc = gc;
	for (l->fan = 0; l->fan < FANS && !err; l->fan++) {
		err = gc_step(gc, GC_FILES, l->fan, FANS);
		if (!err)
			err = compare_fan(l);
	}
	if (!err)
		err = gc_mark_flush(&l->marks);
	if (!err && !gc->opt->dry_run)
		err = drop_lost_marks(gc, &l->unmarks);
	return gc_fail(gc, err, "cannot find out what is in use, so nothing is removed");
}
