/* SPDX-License-Identifier: MIT */
/*
 * Copying a file's content by the cheapest means its file system has: shared extents, else a copy
 * inside the kernel, else through memory. Only data is copied, so holes stay holes. Layer: base.
 */
#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_CHUNK ((size_t)1 << 20)

/*
 * Whether copy_file_range cannot work for this pair at all, so that reading and writing is worth a
 * try.
 */
static int is_unsupported(int err)
{
	return err == EXDEV || err == EINVAL || err == ENOSYS || err == EOPNOTSUPP ||
	       err == EBADF || err == EPERM;
}

static int copy_by_memory(int from, int to, off_t off, off_t end)
{
	auto_free char *buf = malloc(COPY_CHUNK);

	if (!buf)
		return -ENOMEM;
	while (off < end) {
		size_t want = end - off < (off_t)COPY_CHUNK ? (size_t)(end - off) : COPY_CHUNK;
		ssize_t n = io_pread_all(from, buf, want, off);
		int err;

		if (n < 0)
			return (int)n;
		if (n == 0)
			return 0;
		err = io_pwrite_all(to, buf, (size_t)n, off);
		if (err)
			return err;
		off += n;
	}
	return 0;
}

static int copy_range(int from, int to, off_t off, off_t end)
{
	off_t in = off, out = off;

	while (in < end) {
		ssize_t n = copy_file_range(from, &in, to, &out, (size_t)(end - in), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && is_unsupported(errno))
			return copy_by_memory(from, to, in, end);
		if (n < 0)
			return -errno;
		/* Some file systems answer 0 instead of an error for what they cannot copy. */
		if (n == 0)
			return copy_by_memory(from, to, in, end);
	}
	return 0;
}

/* The next run of data at or after *off: 1 and [*off, *end), or 0 when only a hole is left. */
static int next_data(int fd, off_t len, off_t *off, off_t *end)
{
	off_t data = lseek(fd, *off, SEEK_DATA);
	off_t hole;

	if (data < 0 && errno == ENXIO)
		return 0;
	if (data < 0 && (errno == EINVAL || errno == EOPNOTSUPP)) {
		*end = len; /* no support for holes here */
		return 1;
	}
	if (data < 0)
		return -errno;
	if (data >= len)
		return 0;
	hole = lseek(fd, data, SEEK_HOLE);
	if (hole < 0)
		return -errno;
	*off = data;
	*end = hole < len ? hole : len;
	return 1;
}

static int copy_data(int from, int to, off_t len)
{
	off_t off = 0, end = 0;

	while (off < len) {
		int more = next_data(from, len, &off, &end);

		if (more <= 0)
			return more;
		more = copy_range(from, to, off, end);
		if (more)
			return more;
		off = end;
	}
	return 0;
}

int io_copy(int from, int to, off_t len)
{
	struct stat st;
	int err;

	if (fstat(from, &st) < 0)
		return -errno;
	if (len < 0 || st.st_size < len)
		return -EINVAL;
	if (len > 0 && ioctl(to, FICLONE, from) < 0) {
		err = copy_data(from, to, len);
		if (err)
			return err;
	}
	while (ftruncate(to, len) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}
