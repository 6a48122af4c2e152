/* SPDX-License-Identifier: MIT */
/*
 * System calls that finish what they began: no short transfers, no EINTR. Layer: base.
 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OPEN_RETRIES 16

int io_write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_pwrite_all(int fd, const void *buf, size_t len, off_t off)
{
	const char *p = buf;

	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		p += n;
		off += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t io_pread_all(int fd, void *buf, size_t len, off_t off)
{
	char *p = buf;
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, p + done, len - done, off + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int io_fsync(int fd)
{
	/*
	 * Only an interrupted call is repeated. After any other failure the kernel may have dropped
	 * the dirty pages, and a second fsync would report success for data that is gone.
	 */
	while (fsync(fd) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int io_open_beneath(int dir, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned int)flags | O_CLOEXEC,
		.mode = flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? mode & 07777 : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int tries = 0;

	for (;;) {
		long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		/*
		 * EAGAIN: a rename elsewhere raced with the walk, and the kernel could not vouch
		 * for "beneath"
		 */
		if (errno == EINTR || (errno == EAGAIN && ++tries < OPEN_RETRIES))
			continue;
		return -errno;
	}
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

int64_t io_now_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t io_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}
