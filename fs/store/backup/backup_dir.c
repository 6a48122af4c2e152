/* SPDX-License-Identifier: MIT */
/* The directory of a backup. Layer: store. */
#include "store/backup/backup_impl.h"
#include "store/store_lock.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MARK_NEW BACKUP_MARK ".new"

static int make_dir(int at, const char *name)
{
	return mkdirat(at, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int make_lock(int root)
{
	auto_fd int fd = io_open_beneath(root, LAYOUT_LOCK, O_RDWR | O_CREAT, 0600);

	return fd < 0 ? fd : 0;
}

static int open_dir(int root, const char *name, int *out)
{
	int fd = io_open_beneath(root, name, O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	*out = fd;
	return 0;
}

int backup_dir_fill(struct backup_dir *d)
{
	int err = make_lock(d->root);

	if (!err)
		err = make_dir(d->root, LAYOUT_STAGING);
	if (!err)
		err = make_dir(d->root, LAYOUT_BLOBS);
	if (!err)
		err = open_dir(d->root, LAYOUT_STAGING, &d->staging);
	if (!err)
		err = open_dir(d->root, LAYOUT_BLOBS, &d->blobs);
	for (unsigned int n = 0; !err && n < 256; n++) {
		char name[3];

		snprintf(name, sizeof(name), "%02x", n & 0xff);
		err = make_dir(d->blobs, name);
	}
	return err;
}

void backup_dir_close(struct backup_dir *d)
{
	cleanup_fd(&d->staging);
	cleanup_fd(&d->blobs);
	cleanup_fd(&d->lock);
	cleanup_fd(&d->root);
	d->root = d->blobs = d->staging = d->lock = -1;
}

/* The mark is first, so that a directory of ours is known from then on, however little is in it. */
static int make_mark(struct backup_dir *d, const char *uuid)
{
	auto_fd int fd = io_open_beneath(d->root, MARK_NEW, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char line[80];
	int n = snprintf(line, sizeof(line), "fencefs-backup 1 %s\n", uuid), err;

	if (fd < 0)
		return fd;
	err = io_write_all(fd, line, (size_t)n);
	if (!err)
		err = io_fsync(fd);
	if (!err && renameat(d->root, MARK_NEW, d->root, BACKUP_MARK) < 0)
		err = -errno;
	return err ? err : io_fsync(d->root);
}

/* The UUID in the mark. -ENOENT: there is none. */
static int read_mark(struct backup_dir *d)
{
	auto_fd int fd = io_open_beneath(d->root, BACKUP_MARK, O_RDONLY, 0);
	char line[80] = "";
	int version;
	ssize_t n;

	if (fd < 0)
		return fd;
	n = io_pread_all(fd, line, sizeof(line) - 1, 0);
	if (n < 0)
		return (int)n;
	if (sscanf(line, "fencefs-backup %9d %36[0-9a-f-]", &version, d->uuid) != 2)
		return -EMEDIUMTYPE;
	return version == 1 ? 0 : -EPROTONOSUPPORT;
}

/* 1: there is nothing but what an attempt leaves that was cut off at once. */
static int is_fresh(struct backup_dir *d)
{
	(void)unlinkat(d->root, MARK_NEW, 0);
	return layout_is_empty(d->root);
}

static int open_root(const char *path, struct backup_dir *d, struct errmsg *err)
{
	int res;

	d->path = path;
	d->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->root < 0)
		return errmsg_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	res = layout_db_path(d->root, path, d->db, err);
	return res;
}

static int check_mark(struct backup_dir *d, const char *uuid, struct errmsg *err)
{
	int res = read_mark(d);

	if (res == -ENOENT && is_fresh(d) > 0)
		res = make_mark(d, uuid) ? -EIO : read_mark(d);
	if (res == -ENOENT)
		return errmsg_set(err, -ENOTEMPTY, "%s is not empty and not a backup", d->path);
	if (res)
		return errmsg_set(err, res, "%s is not a backup that this program knows: %s",
				  d->path, strerror(-res));
	if (strcmp(d->uuid, uuid) != 0)
		return errmsg_set(err, -EXDEV, "%s is the backup of another store (%s)", d->path,
				  d->uuid);
	return 0;
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* What an interrupted run has left there. */
static int empty_staging(struct backup_dir *b)
{
	__attribute__((cleanup(cleanup_dir))) DIR *d = NULL;
	int fd = io_open_beneath(b->staging, ".", O_RDONLY | O_DIRECTORY, 0);
	const struct dirent *e;
	uint8_t id[16];

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d)
		return -errno;
	while ((e = readdir(d)))
		if (blob_hex_parse(e->d_name, id) == 0 && unlinkat(b->staging, e->d_name, 0) < 0)
			return -errno;
	return 0;
}

int backup_dir_make(const char *path, const char *uuid, struct backup_dir *out, struct errmsg *err)
{
	auto_backup_dir struct backup_dir d = BACKUP_DIR_CLOSED;
	int res;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return errmsg_set(err, -errno, "cannot make %s: %s", path, strerror(errno));
	res = open_root(path, &d, err);
	if (!res)
		res = check_mark(&d, uuid, err);
	if (res)
		return res;
	res = backup_dir_fill(&d);
	if (res)
		return errmsg_set(err, res, "cannot write to %s: %s", path, strerror(-res));
	res = store_lock_take(d.root, path, NULL, &d.lock, err);
	if (res)
		return res;
	res = empty_staging(&d);
	if (res)
		return errmsg_set(err, res, "cannot empty %s/%s: %s", path, LAYOUT_STAGING,
				  strerror(-res));
	*out = d;
	d = (struct backup_dir)BACKUP_DIR_CLOSED;
	return 0;
}

int backup_dir_open(const char *path, struct backup_dir *out, struct errmsg *err)
{
	auto_backup_dir struct backup_dir d = BACKUP_DIR_CLOSED;
	int res = open_root(path, &d, err);

	if (res)
		return res;
	res = read_mark(&d);
	if (res)
		return errmsg_set(err, res == -ENOENT ? -EMEDIUMTYPE : res,
				  "%s is not a backup made by fence backup", path);
	if (faccessat(d.root, LAYOUT_DB, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return errmsg_set(err, -EMEDIUMTYPE,
				  "%s holds no complete backup: the first one was interrupted; run"
				  " it again",
				  path);
	res = open_dir(d.root, LAYOUT_BLOBS, &d.blobs);
	if (res)
		return errmsg_set(err, res, "cannot open %s/%s: %s", path, LAYOUT_BLOBS,
				  strerror(-res));
	/* Where it may not be written to there is no lock to take, and nobody to take it from. */
	res = store_lock_take(d.root, path, NULL, &d.lock, err);
	if (res && res != -EROFS && res != -EACCES)
		return res;
	*out = d;
	d = (struct backup_dir)BACKUP_DIR_CLOSED;
	return 0;
}
