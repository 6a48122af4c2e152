/* SPDX-License-Identifier: MIT */
/*
 * Invariant 20, and what else lies in blobs/ and staging/. Layer: store.
 *
 * No snapshot is held here: with a million blobs it would keep the WAL of a running daemon from
 * being used again for as long as the disk takes.
 */
#include "store/fsck/fsck_impl.h"
#include "store/layout.h"
#include "store/store.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BATCH 512

static int report_mode(struct fsck *f, const struct fsck_blob *b, mode_t mode)
{
	struct fsck_finding x;

	fsck_finding_init(&x, FSCK_MODE, "file of blob %s has mode %04o", blob_hex(b->id.b).s,
			  (unsigned)mode & 07777);
	fsck_name_blob(f, &b->id, &x);
	return fsck_report(f, &x);
}

static int check_file(struct fsck *f, const struct fsck_blob *b)
{
	struct blob_hex hex = blob_hex(b->id.b);
	struct stat st;
	char path[40];
	int res = 0;

	f->totals.blobs++;
	if (b->is_inline || b->is_marked)
		return 0;
	snprintf(path, sizeof(path), "%.2s/%s", hex.s, hex.s);
	if (fstatat(store_blobs_fd(f->s), path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		res = fsck_judge(f, b, errno == ENOENT ? FSCK_MISSING : FSCK_UNREADABLE, -errno);
	else if (!S_ISREG(st.st_mode) || st.st_size != b->size)
		res = fsck_judge(f, b, FSCK_BAD_SIZE, 0);
	else if (st.st_mode & 0222)
		res = report_mode(f, b, st.st_mode);
	return res < 0 ? res : 0;
}

static int check_rows(struct fsck *f)
{
	struct fsck_blob b[BATCH];
	int64_t after = 0;
	int n;

	while ((n = fsck_blobs(f, after, b, BATCH)) > 0) {
		for (int i = 0; i < n; i++) {
			int err = fsck_tick(f);

			if (!err)
				err = check_file(f, &b[i]);
			if (err)
				return err;
		}
		after = b[n - 1].n;
	}
	return fsck_survive(f, "table blob", n);
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

typedef int (*name_fn)(struct fsck *f, int dir, const char *dir_name, const char *name);

/* Every name in @name below @at but "." and "..". */
static int each_name(struct fsck *f, int at, const char *name, const char *shown, name_fn fn)
{
	__attribute__((cleanup(cleanup_dir))) DIR *d = NULL;
	auto_fd int fd = io_open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0);
	const struct dirent *e;
	int err;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d)
		return -errno;
	take_fd(&fd);
	for (;;) {
		errno = 0;
		e = readdir(d);
		if (!e)
			return errno ? -errno : 0;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		err = fsck_tick(f);
		if (!err)
			err = fn(f, dirfd(d), shown, e->d_name);
		if (err)
			return err;
	}
}

static int report_foreign(struct fsck *f, const char *dir, const char *name)
{
	struct fsck_finding x;

	fsck_finding_init(&x, FSCK_FOREIGN, "%s/%.200s does not belong to this store", dir, name);
	return fsck_report(f, &x);
}

static int has_row(struct fsck *f, const struct blob_id *id)
{
	auto_stmt struct stmt *st = NULL;
	int res = db_stmt(f->db, "SELECT 1 FROM blob WHERE id = ?1 AND data IS NULL", &st);

	if (res)
		return res;
	stmt_blob(st, 1, id->b, sizeof(id->b));
	return stmt_step(st);
}

static int see_blob(struct fsck *f, int dir, const char *shown, const char *name)
{
	struct blob_id id;
	struct stat st;
	int res;

	if (blob_hex_parse(name, id.b) || strncmp(strrchr(shown, '/') + 1, name, 2) != 0)
		return report_foreign(f, shown, name);
	f->totals.files++;
	res = has_row(f, &id);
	if (res)
		return res < 0 ? fsck_survive(f, "table blob", res) : 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode))
		return report_foreign(f, shown, name);
	f->totals.orphans++;
	f->totals.orphan_bytes += st.st_size;
	return 0;
}

static int report_fan(struct fsck *f, const char *shown, int err)
{
	struct fsck_finding x;

	fsck_finding_init(&x, FSCK_BLOB_FILE, "%s: %s", shown, strerror(-err));
	x.consequence = "blobs whose id begins like this can be neither read nor sealed";
	x.remedy = err == -ENOENT ? "make the directory, with mode 0700" : "check the disk";
	return fsck_report(f, &x);
}

static bool is_fan(const char *name)
{
	return strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

static int see_fan(struct fsck *f, int dir, const char *shown, const char *name)
{
	(void)dir;
	if (is_fan(name) || strcmp(name, store_uuid(f->s)) == 0)
		return 0;
	return report_foreign(f, shown, name);
}

static int check_blobs(struct fsck *f)
{
	struct fsck_finding x;
	int err = each_name(f, store_blobs_fd(f->s), ".", LAYOUT_BLOBS, see_fan);

	for (unsigned int n = 0; !err && n < 256; n++) {
		char fan[3], shown[sizeof(LAYOUT_BLOBS) + 3];

		snprintf(fan, sizeof(fan), "%02x", n & 0xff);
		snprintf(shown, sizeof(shown), LAYOUT_BLOBS "/%s", fan);
		err = each_name(f, store_blobs_fd(f->s), fan, shown, see_blob);
		if (err == -ENOENT || err == -ENOTDIR || err == -ELOOP || err == -EIO)
			err = report_fan(f, shown, err);
	}
	if (err || f->totals.orphans == 0)
		return err;
	fsck_finding_init(&x, FSCK_ORPHAN,
			  "%" PRId64 " files in blobs/, %" PRId64
			  " bytes, that the database does not know",
			  f->totals.orphans, f->totals.orphan_bytes);
	if (f->opt.is_live)
		x.consequence = "none; commits in progress leave them for a moment";
	return fsck_report(f, &x);
}

static int see_staged(struct fsck *f, int dir, const char *shown, const char *name)
{
	struct blob_id id;

	(void)dir;
	if (blob_hex_parse(name, id.b))
		return report_foreign(f, shown, name);
	f->totals.staged++;
	return 0;
}

int fsck_check_files(struct fsck *f)
{
	int err = check_rows(f);

	if (!err)
		err = check_blobs(f);
	return err ? err : each_name(f, store_staging_fd(f->s), ".", LAYOUT_STAGING, see_staged);
}
