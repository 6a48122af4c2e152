/* SPDX-License-Identifier: MIT */
/*
 * Files that sessions still write: staging/ID. Layer: store.
 */
#include "base/cleanup.h"
#include "base/io.h"
#include "store/blob/blob.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

int staging_create(struct store *s, const struct blob_id *id, int *out_fd)
{
	struct blob_hex name = blob_hex(id->b);
	int fd = io_open_beneath(store_staging_fd(s), name.s, O_CREAT | O_EXCL | O_RDWR, 0600);

	if (fd < 0)
		return fd;
	*out_fd = fd;
	return 0;
}

int staging_open(struct store *s, const struct blob_id *id, int flags, int *out_fd)
{
	struct blob_hex name = blob_hex(id->b);
	int fd = io_open_beneath(store_staging_fd(s), name.s, flags, 0);

	if (fd < 0)
		return fd;
	*out_fd = fd;
	return 0;
}

int staging_stat(struct store *s, const struct blob_id *id, struct stat *out)
{
	struct blob_hex name = blob_hex(id->b);
	struct stat st;

	if (fstatat(store_staging_fd(s), name.s, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*out = st;
	return 0;
}

int staging_remove(struct store *s, const struct blob_id *id)
{
	struct blob_hex name = blob_hex(id->b);

	return unlinkat(store_staging_fd(s), name.s, 0) < 0 ? -errno : 0;
}

static void cleanup_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

int staging_empty(struct store *s)
{
	__attribute__((cleanup(cleanup_dir))) DIR *d = NULL;
	auto_fd int fd = io_open_beneath(store_staging_fd(s), ".", O_RDONLY | O_DIRECTORY, 0);
	int count = 0;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d)
		return -errno;
	take_fd(&fd); /* the stream's now */
	for (;;) {
		struct dirent *entry;

		errno = 0;
		entry = readdir(d);
		if (!entry)
			return errno ? -errno : count;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(d), entry->d_name, 0) < 0)
			return -errno;
		count++;
	}
}
