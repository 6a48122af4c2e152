/* SPDX-License-Identifier: MIT */
/*
 * Marking a dead mount as dead in its source. Layer: fuse.
 *
 * The source of a mount cannot be changed. So a mount of a FUSE connection that nobody serves, with
 * the source that is wanted, goes beneath the dead one, which then is taken away: at no time can
 * anybody write into the bare directory. The dead one is held by a descriptor all the while: should
 * a daemon have come meanwhile, and cleared it away, then nothing is found, and the new mount left
 * alone.
 */
#include "fuse/mount/stale.h"

#include "base/cleanup.h"
#include "base/dead_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef MOVE_MOUNT_BENEATH
#define MOVE_MOUNT_BENEATH 0x200 /* Linux 6.5 */
#endif

/*
 * A request that is under way while the connection ends fails with another error than all after it.
 */
static bool is_dead(int fd)
{
	struct statfs st;
	int err;

	do
		err = fstatfs(fd, &st) < 0 ? errno : 0;
	while (err == ECONNABORTED || err == EINTR);
	return err == ENOTCONN;
}

static bool set_string(int fs, const char *key, const char *value)
{
	return fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0) == 0;
}

/* A mount of a connection that ends with this function, attached nowhere. */
static int new_dead_mount(const char *source, int *out_fd)
{
	auto_fd int dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	auto_fd int fs = -1, fd = -1;
	char number[16];

	if (dev < 0)
		return -errno;
	fs = fsopen("fuse", FSOPEN_CLOEXEC);
	if (fs < 0)
		return -errno;
	snprintf(number, sizeof(number), "%d", dev);
	if (!set_string(fs, "source", source) || !set_string(fs, "subtype", "fencefs") ||
	    !set_string(fs, "fd", number) || !set_string(fs, "rootmode", "40000") ||
	    !set_string(fs, "user_id", "0") || !set_string(fs, "group_id", "0") ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC,
		     MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fd < 0)
		return -errno;
	*out_fd = take_fd(&fd);
	return 0;
}

/*
 * umount2() takes no descriptor; this leads to the very mount, or nowhere once that is taken away.
 */
static int detach(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return umount2(path, MNT_DETACH) < 0 ? -errno : 0;
}

int stale_mark(const char *mountpoint, const char *source)
{
	auto_free char *marked = NULL;
	auto_fd int dead = open(mountpoint, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	auto_fd int fd = -1;
	int err;

	if (dead < 0)
		return -errno;
	if (!is_dead(dead) || !stale_is_of(mountpoint, source))
		return -ENOENT;
	if (asprintf(&marked, DEAD_MARK "%s", source) < 0) {
		marked = NULL;
		return -ENOMEM;
	}
	err = new_dead_mount(marked, &fd);
	if (err < 0)
		return err;
	if (move_mount(fd, "", dead, "",
		       MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH | MOVE_MOUNT_BENEATH) < 0)
		return -errno;
	return detach(dead);
}
