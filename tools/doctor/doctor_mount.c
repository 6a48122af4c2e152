/* SPDX-License-Identifier: MIT */
/* fence doctor: the directory beneath a mount. */
#include "doctor/doctor.h"

#include "base/cleanup.h"
#include "parse/buf.h"
#include "out/display.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * The directory that @mount covers: seen in a copy of its parent's mount, on which nothing is
 * mounted. Takes CAP_SYS_ADMIN.
 */
static int open_covered(const char *mount)
{
	const char *name = strrchr(mount, '/') + 1;
	auto_buf struct buf parent = { 0 };
	auto_fd int tree = -1;
	int fd;

	buf_add(&parent, mount, (size_t)(name - mount));
	tree = (int)syscall(SYS_open_tree, AT_FDCWD, parent.s,
			    (unsigned)(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
	if (tree < 0)
		return -errno;
	fd = openat(tree, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int is_immutable(const char *mount)
{
	auto_fd int fd = open_covered(mount);
	int flags = 0; /* the kernel writes an int, whatever the name says */

	if (fd < 0)
		return fd;
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return -errno;
	return (flags & FS_IMMUTABLE_FL) != 0;
}

static void check_alive(struct doctor *d, const char *mount)
{
	auto_buf struct buf shown = { 0 }, remedy = { 0 };
	struct statfs st;

	if (statfs(mount, &st) == 0 || errno != ENOTCONN)
		return;
	display_name(&shown, mount);
	buf_printf(&remedy, "mount it again, without unmounting it first: mount %s", shown.s);
	doctor_say(d, DOCTOR_MISSING, "mount", remedy.s,
		   "the daemon of the mount at %s has died: nothing can be read there", shown.s);
}

void doctor_mount(struct doctor *d, const char *mount)
{
	auto_buf struct buf shown = { 0 }, remedy = { 0 };
	int r = mount[0] == '/' && mount[1] ? is_immutable(mount) : -EINVAL;

	check_alive(d, mount);
	display_name(&shown, mount);
	buf_printf(&remedy, "fence umount %s; chattr +i %s; then mount it again", shown.s, shown.s);
	if (r == 1)
		doctor_say(d, DOCTOR_OK, "mount point", NULL,
			   "%s is immutable: nothing can be written there while it is not mounted",
			   shown.s);
	else if (r == 0)
		doctor_say(d, DOCTOR_NOTE, "mount point", remedy.s,
			   "while nothing is mounted, programs can write to the bare directory %s",
			   shown.s);
	else if (r == -ENOTTY || r == -EOPNOTSUPP)
		doctor_say(d, DOCTOR_OK, "mount point", NULL,
			   "%s is on a file system without chattr +i", shown.s);
	else
		doctor_say(d, DOCTOR_NOTE, "mount point", "ask as root",
			   "cannot tell whether %s is immutable: %s", shown.s, strerror(-r));
}
