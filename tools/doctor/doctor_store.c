/* SPDX-License-Identifier: MIT */
/* fence doctor: the file system that a store lies on, and who has the store. */
#include "doctor/doctor.h"

#include "base/cleanup.h"
#include "out/display.h"
#include "store/layout.h"
#include "store/store.h"
#include "store/store_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SPACE_FEW	  (INT64_C(1) << 30)
#define INODES_FEW	  10000
#define XFS_MAGIC	  0x58465342
#define CLONE_TRIED_BYTES 65536

static const char *fs_name(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return "a local file system";
	switch ((uint32_t)fs.f_type) {
	case EXT4_SUPER_MAGIC:
		return "ext4";
	case XFS_MAGIC:
		return "xfs";
	case BTRFS_SUPER_MAGIC:
		return "btrfs";
	case TMPFS_MAGIC:
		return "tmpfs";
	default:
		return "a local file system";
	}
}

static void check_fs(struct doctor *d, int fd, const char *store)
{
	struct errmsg err = { "" };
	const char *name = fs_name(fd);

	if (layout_check_fs(fd, store, &err) < 0)
		doctor_say(d, DOCTOR_MISSING, "file system", "move the store to a local disk", "%s",
			   err.s);
	else if (strcmp(name, "tmpfs") == 0)
		doctor_say(d, DOCTOR_NOTE, "file system", "move the store to a disk",
			   "the store lies on tmpfs: it is gone when the machine restarts");
	else
		doctor_say(d, DOCTOR_OK, "file system", NULL, "the store lies on %s", name);
}

/* Files without a name, in the store's directory. */
static int try_clone(int root)
{
	static const char bytes[CLONE_TRIED_BYTES];
	auto_fd int from = openat(root, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	auto_fd int to = openat(root, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (from < 0 || to < 0)
		return -errno;
	if (write(from, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
		return -EIO;
	return ioctl(to, FICLONE, from) < 0 ? -errno : 0;
}

static void check_reflink(struct doctor *d, int fd)
{
	int r = try_clone(fd);

	switch (r) {
	case 0:
		doctor_say(d, DOCTOR_OK, "reflink", NULL,
			   "changing a large file in a session copies nothing");
		break;
	case -EOPNOTSUPP:
	case -EXDEV:
	case -EINVAL:
	case -ENOTTY:
		doctor_say(d, DOCTOR_NOTE, "reflink", "a store on btrfs, or xfs with reflink=1",
			   "changing a large file in a session copies it first");
		break;
	default:
		doctor_say(d, DOCTOR_NOTE, "reflink", "ask as the user whose store it is",
			   "cannot find out whether files can share blocks: %s", strerror(-r));
	}
}

static void check_space(struct doctor *d, const struct statvfs *fs)
{
	int64_t free_bytes = (int64_t)(fs->f_bavail * fs->f_frsize);
	int64_t total = (int64_t)(fs->f_blocks * fs->f_frsize);
	auto_buf struct buf size = { 0 };
	const char *remedy = "fence gc, and fence policy to keep less; or a larger file system";

	display_size(&size, (uint64_t)free_bytes);
	if (free_bytes == 0)
		doctor_say(d, DOCTOR_MISSING, "space", remedy, "no space is free: commits fail");
	else if (free_bytes < SPACE_FEW && free_bytes < total / 10)
		doctor_say(d, DOCTOR_NOTE, "space", remedy, "only %s free", size.s);
	else
		doctor_say(d, DOCTOR_OK, "space", NULL, "%s free", size.s);
}

static void check_inodes(struct doctor *d, const struct statvfs *fs)
{
	uint64_t n = fs->f_favail;
	const char *remedy = "fence gc; or a file system with more inodes";

	if (fs->f_files == 0)
		doctor_say(d, DOCTOR_OK, "inodes", NULL, "as many as there is space for");
	else if (n == 0)
		doctor_say(d, DOCTOR_MISSING, "inodes", remedy,
			   "none is free: larger files cannot be committed");
	else if (n < INODES_FEW)
		doctor_say(d, DOCTOR_NOTE, "inodes", remedy, "only %" PRIu64 " free", n);
	else
		doctor_say(d, DOCTOR_OK, "inodes", NULL, "%" PRIu64 " free", n);
}

static void check_holder(struct doctor *d, const char *store)
{
	char mount[PATH_MAX + 1] = "";
	auto_buf struct buf shown = { 0 };
	int pid = 0;
	int r = store_holder(store, &pid, mount);

	display_name(&shown, mount);
	if (r < 0)
		doctor_say(d, DOCTOR_NOTE, "served by", "ask as root",
			   "cannot tell who has the store: %s", strerror(-r));
	else if (pid == 0)
		doctor_say(d, DOCTOR_OK, "served by", NULL, "no process has the store");
	else if (mount[0])
		doctor_say(d, DOCTOR_OK, "served by", NULL, "process %d has the store, at %s", pid,
			   buf_text(&shown));
	else
		doctor_say(d, DOCTOR_OK, "served by", NULL, "process %d has the store", pid);
}

void doctor_store(struct doctor *d, const char *store)
{
	auto_fd int fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = errno;
	struct statvfs fs;

	if (fd < 0) {
		doctor_say(d, DOCTOR_NOTE, "store", "ask as the user whose store it is",
			   "the store cannot be examined: %s", strerror(err));
		return;
	}
	check_fs(d, fd, store);
	check_reflink(d, fd);
	if (fstatvfs(fd, &fs) == 0) {
		check_space(d, &fs);
		check_inodes(d, &fs);
	}
	check_holder(d, store);
}
