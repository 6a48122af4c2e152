/* SPDX-License-Identifier: MIT */
/*
 * The lock of a store. Layer: store.
 *
 * An OFD lock: it belongs to the descriptor, so closing another descriptor of the file does not
 * drop it (a POSIX lock would go), and it is gone with the process, however that ends. What the
 * file says is only for people; a stale text means nothing.
 */
#include "store/store_lock.h"
#include "store/layout.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define HOLDER_MAX (32 + PATH_MAX)

struct holder {
	int pid; /* 0: unknown */
	char mountpoint[PATH_MAX + 1];
};

/* "PID MOUNTPOINT\n"; the mount point may be missing, and may contain anything. */
static int read_holder(int fd, struct holder *out)
{
	char text[HOLDER_MAX + 1];
	ssize_t n = io_pread_all(fd, text, HOLDER_MAX, 0);
	char *end;
	long pid;

	if (n < 0)
		return (int)n;
	*out = (struct holder){ 0 };
	if (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	pid = strtol(text, &end, 10);
	if (pid <= 0 || pid > INT32_MAX)
		return 0;
	out->pid = (int)pid;
	if (*end == ' ')
		snprintf(out->mountpoint, sizeof(out->mountpoint), "%s", end + 1);
	return 0;
}

static int write_holder(int fd, const char *mountpoint)
{
	char text[HOLDER_MAX + 1];
	int n = snprintf(text, sizeof(text), mountpoint ? "%d %s\n" : "%d\n", (int)getpid(),
			 mountpoint);

	if (n < 0 || (size_t)n >= sizeof(text))
		return -ENAMETOOLONG;
	if (ftruncate(fd, 0) < 0)
		return -errno;
	return io_pwrite_all(fd, text, (size_t)n, 0);
}

static int say_busy(int fd, const char *path, struct errmsg *err)
{
	struct holder h = { 0 };

	(void)read_holder(fd, &h);
	if (h.pid && h.mountpoint[0])
		return errmsg_set(err, -EBUSY, "store %s is served by fencefs (pid %d) at %s", path,
				  h.pid, h.mountpoint);
	if (h.pid)
		return errmsg_set(err, -EBUSY, "store %s is in use by process %d", path, h.pid);
	return errmsg_set(err, -EBUSY, "store %s is in use by another process", path);
}

int store_lock_take(int root, const char *path, const char *mountpoint, int *out_fd,
		    struct errmsg *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	auto_fd int fd = io_open_beneath(root, LAYOUT_LOCK, O_RDWR, 0);
	int res;

	if (fd < 0)
		return errmsg_set(err, fd, "cannot open %s/%s: %s", path, LAYOUT_LOCK,
				  strerror(-fd));
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno == EAGAIN || errno == EACCES)
			return say_busy(fd, path, err);
		return errmsg_set(err, -errno, "cannot lock %s/%s: %s", path, LAYOUT_LOCK,
				  strerror(errno));
	}
	res = write_holder(fd, mountpoint);
	if (res)
		return errmsg_set(err, res, "cannot write %s/%s: %s", path, LAYOUT_LOCK,
				  strerror(-res));
	*out_fd = take_fd(&fd);
	return 0;
}

int store_holder(const char *path, int *out_pid, char *mountpoint)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	auto_fd int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_fd int fd = -1;
	struct holder h = { 0 };
	int err;

	if (root < 0)
		return -errno;
	fd = io_open_beneath(root, LAYOUT_LOCK, O_RDONLY, 0);
	if (fd < 0)
		return fd;
	if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
		return -errno;
	if (lock.l_type != F_UNLCK) {
		err = read_holder(fd, &h);
		if (err)
			return err;
	}
	*out_pid = h.pid;
	memcpy(mountpoint, h.mountpoint, strlen(h.mountpoint) + 1);
	return 0;
}
