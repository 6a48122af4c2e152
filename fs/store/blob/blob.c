/* SPDX-License-Identifier: MIT */
/*
 * Sealed content in files: blobs/xx/ID (P5: never written again). Layer: store.
 */
#include "store/blob/blob.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "store/store.h"
#include "store/sqlite/unsafe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* "xx", the fan-out directory of an id. */
struct fan {
	char s[3];
};

static struct fan fan_of(const struct blob_id *id)
{
	struct blob_hex hex = blob_hex(id->b);

	return (struct fan){ { hex.s[0], hex.s[1], '\0' } };
}

/* The fan-out directory as a descriptor, or -errno. */
static int open_fan(struct store *s, struct fan fan, int flags)
{
	return io_open_beneath(store_blobs_fd(s), fan.s, flags | O_DIRECTORY, 0);
}

int blob_open(struct store *s, const struct blob_id *id, int64_t want, int *out_fd)
{
	struct blob_hex hex = blob_hex(id->b);
	char path[36 + 1];
	auto_fd int fd = -1;
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", fan_of(id).s, hex.s);
	fd = io_open_beneath(store_blobs_fd(s), path, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != want)
		return -EUCLEAN;
	*out_fd = take_fd(&fd);
	return 0;
}

static int set_staged_mode(struct store *s, const char *name, mode_t mode)
{
	auto_fd int fd = io_open_beneath(store_staging_fd(s), name, O_RDONLY, 0);

	if (fd < 0)
		return fd;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

int blob_move_in(struct store *s, const struct blob_id *id)
{
	struct blob_hex hex = blob_hex(id->b);
	auto_fd int fan = open_fan(s, fan_of(id), O_PATH);
	int err;

	if (fan < 0)
		return fan;
	err = set_staged_mode(s, hex.s, 0400);
	/* A commit that is tried again finds what its first try has moved already. */
	if (err == -ENOENT && faccessat(fan, hex.s, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (err)
		return err;
	if (renameat2(store_staging_fd(s), hex.s, fan, hex.s, RENAME_NOREPLACE) == 0)
		return 0;
	err = -errno;
	/* After a full disk its session goes on, and must be able to write it without privilege. */
	(void)set_staged_mode(s, hex.s, 0600);
	return err;
}

void blob_dirs_add(struct blob_dirs *d, const struct blob_id *id)
{
	d->bits[id->b[0] / 64] |= UINT64_C(1) << (id->b[0] % 64);
}

static int sync_fan(struct store *s, unsigned int n)
{
	auto_fd int fd = -1;
	struct fan fan;

	snprintf(fan.s, sizeof(fan.s), "%02x", n & 0xff);
	fd = open_fan(s, fan, O_RDONLY);
	return fd < 0 ? fd : io_fsync(fd);
}

int blob_sync_dirs(struct store *s, const struct blob_dirs *d)
{
	if (unsafe_no_dir_fsync()) /* store_open warned of it */
		return 0;
	for (unsigned int n = 0; n < 256; n++) {
		int err;

		if (!(d->bits[n / 64] & UINT64_C(1) << (n % 64)))
			continue;
		err = sync_fan(s, n);
		if (err)
			return err;
	}
	return 0;
}

int blob_remove(struct store *s, const struct blob_id *id)
{
	struct blob_hex hex = blob_hex(id->b);
	auto_fd int fan = open_fan(s, fan_of(id), O_PATH);

	if (fan < 0)
		return fan;
	return unlinkat(fan, hex.s, 0) < 0 ? -errno : 0;
}

int blob_file_size(struct store *s, const struct blob_id *id, int64_t *out)
{
	struct blob_hex hex = blob_hex(id->b);
	auto_fd int fan = open_fan(s, fan_of(id), O_PATH);
	struct stat st;

	if (fan < 0)
		return fan;
	if (fstatat(fan, hex.s, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	*out = st.st_size;
	return 0;
}
