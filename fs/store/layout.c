/* SPDX-License-Identifier: MIT */
/*
 * What a store directory looks like from outside. Layer: store.
 */
#include "store/layout.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/version.h"
#include "base/uuid.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SQLITE_PATH_MAX 512
#define DB_SUFFIX_MAX	8 /* "-journal" */

struct fs_type {
	uint32_t magic;
	const char *name;
};

static const struct fs_type network_fs[] = {
	{ 0x6969, "NFS" },	 { 0x517b, "SMB" },	   { 0xff534d42, "CIFS" },
	{ 0xfe534d42, "SMB2" },	 { 0x01021997, "9p" },	   { 0x00c36400, "CephFS" },
	{ 0x5346414f, "AFS" },	 { 0x6b414653, "AFS" },	   { 0x01161970, "GFS2" },
	{ 0x7461636f, "OCFS2" }, { 0x0bd00bd0, "Lustre" }, { 0x73757245, "Coda" },
	{ 0x47504653, "GPFS" },	 { 0x19830326, "BeeGFS" }, { 0x564c, "NCP" },
	{ 0xaad7aaea, "PanFS" },
};

int layout_check_fs(int fd, const char *path, struct errmsg *err)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return errmsg_set(err, -errno, "cannot tell the file system of %s: %s", path,
				  strerror(errno));
	for (size_t i = 0; i < sizeof(network_fs) / sizeof(network_fs[0]); i++) {
		if ((uint32_t)fs.f_type == network_fs[i].magic)
			return errmsg_set(
				err, -EOPNOTSUPP,
				"%s lies on %s; a store needs a local file system (ext4, xfs,"
				" btrfs)",
				path, network_fs[i].name);
	}
	return 0;
}

/* "fencefs VERSION UUID\n"; of a version above @newest what follows its number is not known. */
static int parse_format(const char *line, int64_t newest, struct store_format *out)
{
	static const char shape[] = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
	struct store_format f = { 0 };
	char end = 0;
	int n = sscanf(line, "fencefs %9" SCNd64 " %36[0-9a-f-]%c", &f.version, f.uuid.s, &end);

	*out = f;
	if (n >= 1 && f.version > newest)
		return 0;
	if (n != 3 || end != '\n' || f.version < 1)
		return -EMEDIUMTYPE;
	for (size_t i = 0; i < UUID_LEN; i++) {
		if ((f.uuid.s[i] == '-') != (shape[i] == '-'))
			return -EMEDIUMTYPE;
	}
	return 0;
}

int layout_check_version(const char *path, int64_t format, int64_t newest, struct errmsg *err)
{
	if (format <= newest)
		return 0;
	return errmsg_set(err, -EPROTONOSUPPORT,
			  "the store %s has format %" PRId64
			  ", and this program (fencefs %s) knows formats up to %" PRId64
			  ": use a newer fencefs, at least the version that last served the store."
			  " To go back to this one, restore a backup that was made with it",
			  path, format, version(), newest);
}

int layout_read_format(int root, const char *path, int64_t newest, struct store_format *out,
		       struct errmsg *err)
{
	auto_fd int fd = io_open_beneath(root, LAYOUT_FORMAT, O_RDONLY, 0);
	struct store_format format;
	char line[128] = "";
	ssize_t n;
	int res;

	if (fd == -ENOENT && layout_is_unfinished(root) > 0)
		return errmsg_set(
			err, -EMEDIUMTYPE,
			"%s is not a store yet: its creation was interrupted; empty it and run"
			" fence init again",
			path);
	if (fd == -ENOENT)
		return errmsg_set(err, -EMEDIUMTYPE, "%s is not a fencefs store", path);
	if (fd < 0)
		return errmsg_set(err, fd, "cannot open %s/%s: %s", path, LAYOUT_FORMAT,
				  strerror(-fd));
	n = io_pread_all(fd, line, sizeof(line) - 1, 0);
	if (n < 0)
		return errmsg_set(err, (int)n, "cannot read %s/%s: %s", path, LAYOUT_FORMAT,
				  strerror((int)-n));
	if (parse_format(line, newest, &format) < 0)
		return errmsg_set(err, -EMEDIUMTYPE,
				  "%s is not a fencefs store: that is not what %s/%s says", path,
				  path, LAYOUT_FORMAT);
	res = layout_check_version(path, format.version, newest, err);
	if (!res)
		*out = format;
	return res;
}

int layout_write_format(int root, const char *uuid, int64_t version, unsigned int flags)
{
	auto_fd int fd =
		io_open_beneath(root, LAYOUT_FORMAT_NEW, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	char line[80];
	int err;

	if (fd < 0)
		return fd;
	snprintf(line, sizeof(line), "fencefs %" PRId64 " %s\n", version, uuid);
	err = io_write_all(fd, line, strlen(line));
	if (!err)
		err = io_fsync(fd);
	if (!err)
		err = io_fsync(root); /* all else is durable before the format says so */
	if (err)
		return err;
	if (renameat2(root, LAYOUT_FORMAT_NEW, root, LAYOUT_FORMAT, flags) < 0)
		return -errno;
	return io_fsync(root);
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static bool is_ours(const char *name)
{
	static const char *const names[] = {
		LAYOUT_FORMAT_NEW, LAYOUT_LOCK,	  LAYOUT_BLOBS,	 LAYOUT_STAGING,
		LAYOUT_DB,	   "meta.db-wal", "meta.db-shm", "meta.db-journal",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

/* How many names are in @root, and how many of them not ours. */
static int count_names(int root, int *out_all, int *out_foreign)
{
	__attribute__((cleanup(cleanup_dir))) DIR *d = NULL;
	auto_fd int fd = io_open_beneath(root, ".", O_RDONLY | O_DIRECTORY, 0);
	const struct dirent *entry;
	int all = 0, foreign = 0;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d)
		return -errno;
	take_fd(&fd);
	errno = 0;
	while ((entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		all++;
		foreign += !is_ours(entry->d_name);
	}
	if (errno)
		return -errno;
	*out_all = all;
	*out_foreign = foreign;
	return 0;
}

int layout_is_unfinished(int root)
{
	int all = 0, foreign = 0;
	int err = count_names(root, &all, &foreign);

	return err ? err : all > 0 && foreign == 0;
}

int layout_is_empty(int root)
{
	int all = 0, foreign = 0;
	int err = count_names(root, &all, &foreign);

	return err ? err : all == 0;
}

int layout_db_path(int root, const char *path, char out[PATH_MAX], struct errmsg *err)
{
	char link[64], dir[PATH_MAX];
	ssize_t n;

	/*
	 * Where the descriptor leads, not where the path leads by now; absolute, so a later chdir
	 * does no harm.
	 */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", root);
	n = readlink(link, dir, sizeof(dir) - 1);
	if (n < 0)
		return errmsg_set(err, -errno, "cannot find the real path of %s: %s", path,
				  strerror(errno));
	if ((size_t)n + sizeof("/" LAYOUT_DB) + DB_SUFFIX_MAX > SQLITE_PATH_MAX)
		return errmsg_set(
			err, -ENAMETOOLONG,
			"the path of the store is too long (%zd bytes, at most %zu): %.200s", n,
			SQLITE_PATH_MAX - sizeof("/" LAYOUT_DB) - DB_SUFFIX_MAX, path);
	dir[n] = '\0';
	snprintf(out, PATH_MAX, "%.*s/%s", SQLITE_PATH_MAX, dir, LAYOUT_DB);
	return 0;
}
