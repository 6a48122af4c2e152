/* SPDX-License-Identifier: MIT */
/*
 * Takes a mount away and waits for its daemon to have let go of the store: then, and not before,
 * the store can be mounted again, checked or copied.
 */
#include "cmd/cmd.h"

#include "parse/args.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "parse/buf.h"
#include "out/exit_code.h"
#include "client/mount_table.h"
#include "client/mount_users.h"
#include "out/report.h"
#include "store/store.h"
#include "store/store_lock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS INT64_C(30000000000)
#define STEP_NS 5000000

/*
 * Absolute, without touching the mount itself: its daemon may be dead. Malloc'd; NULL with errno.
 */
static char *absolute(const char *given)
{
	auto_free char *copy = str_copy(given);
	auto_free char *above = NULL;
	struct buf out = { 0 };
	size_t len = strlen(copy);
	char *slash;
	const char *base;

	while (len > 1 && copy[len - 1] == '/')
		copy[--len] = '\0';
	slash = strrchr(copy, '/');
	base = slash ? slash + 1 : copy;
	if (!*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
		return realpath(copy, NULL);
	if (slash)
		*slash = '\0';
	above = realpath(slash ? (slash == copy ? "/" : copy) : ".", NULL);
	if (!above)
		return NULL;
	buf_printf(&out, "%s/%s", strcmp(above, "/") == 0 ? "" : above, base);
	return out.s;
}

static int unmount_as_user(const char *point, int lazy)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		/* Its own message would come on top of ours. */
		if (!freopen("/dev/null", "w", stderr))
			_exit(127);
		execlp("fusermount3", "fusermount3", lazy ? "-uz" : "-u", "--", point,
		       (char *)NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 127 ? -ENOSYS : -EBUSY;
}

static int unmount(const char *point, int lazy)
{
	if (umount2(point, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
		return 0;
	return errno == EPERM ? unmount_as_user(point, lazy) : -errno;
}

static int say_failed(const struct args *a, const char *point, const struct mount_row *row, int r)
{
	auto_buf struct buf users = { 0 };

	if (r == -ENOSYS)
		report_error(a, point, r, "fusermount3 is missing (package fuse3)");
	else if (r != -EBUSY)
		report_error(a, point, r, "%s", strerror(-r));
	else if (mount_users(row->dev, &users) > 0)
		report_error(a, point, r, "busy: %s", users.s);
	else
		report_error(a, point, r, "busy, or not yours to unmount");
	if (r == -EBUSY && !args_has(a, "lazy"))
		report_hint("stop what uses it, or detach it now: fence umount --lazy");
	return EXIT_FAILED;
}

struct daemon {
	const char *store; /* borrowed */
	int pid;	   /* who has its lock; 0: unknown */
	int fd;		   /* owned; a pidfd of it, -1: none */
};

/*
 * Who serves @store at @mountpoint. After a crash it may be served at another place, and the dead
 * mount is nobody's. A relative @store was relative to a directory that nobody knows any more.
 */
static struct daemon daemon_of(const char *store, const char *mountpoint)
{
	struct daemon d = { .store = store, .fd = -1 };
	char point[PATH_MAX + 1] = "";

	if (store[0] != '/' || store_holder(store, &d.pid, point) < 0)
		d.pid = 0;
	if (*point && strcmp(point, mountpoint) != 0)
		d.pid = 0;
	if (d.pid > 0)
		d.fd = (int)syscall(SYS_pidfd_open, d.pid, 0);
	return d;
}

/*
 * Until the daemon has ended. Without a pidfd (another PID namespace), until it has let go of the
 * store.
 */
static int wait_gone(const struct args *a, const struct daemon *d)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	struct pollfd end = { .fd = d->fd, .events = POLLIN };
	int64_t until = io_boot_ns() + WAIT_NS;
	char point[PATH_MAX + 1];
	int holder;

	if (d->fd >= 0)
		poll(&end, 1, (int)(WAIT_NS / 1000000));
	while (store_holder(d->store, &holder, point) == 0 && holder == d->pid) {
		if (io_boot_ns() > until) {
			report_error(a, d->store, -EBUSY,
				     "unmounted, but its daemon (pid %d) still has the store",
				     d->pid);
			return EXIT_FAILED;
		}
		nanosleep(&step, NULL);
	}
	return EXIT_OK;
}

static int run(const struct args *a)
{
	auto_free char *point = absolute(a->rest[0]);
	auto_mount_table struct mount_table table = { 0 };
	const struct mount_row *row;
	struct daemon daemon;
	auto_fd int end = -1;
	int r;

	if (!point)
		return report_errno(a, a->rest[0], -errno);
	r = mount_table_read(&table);
	if (r < 0)
		return report_errno(a, "/proc/self/mountinfo", r);
	row = mount_by_point(&table, point);
	if (!row || !row->is_fencefs)
		return report_error(a, a->rest[0], -EMEDIUMTYPE, "no fencefs is mounted there");
	/* We need not be the one who keeps it busy. */
	if (chdir("/") < 0)
		return report_errno(a, "/", -errno);
	daemon = daemon_of(row->source, point);
	end = daemon.fd;
	r = unmount(point, args_has(a, "lazy"));
	if (r < 0)
		return say_failed(a, a->rest[0], row, r);
	if (daemon.pid == 0 || args_has(a, "lazy") || args_has(a, "no-wait"))
		return EXIT_OK;
	return wait_gone(a, &daemon);
}

static const char *const usage[] = { "[-l] [--no-wait] MOUNTPOINT", NULL };
static const struct option_spec options[] = {
	{ "lazy", 'l', NULL, "detach it now; the daemon ends when nothing uses it any more" },
	{ "no-wait", 0, NULL, "do not wait for the daemon to end" },
	OPTION_END,
};
static const int exits[] = { 10, 0 };

const struct verb verb_umount = {
	.name = "umount",
	.summary = "Unmount",
	.usage = usage,
	.about = "Commits in progress are finished. Waits up to 30 seconds for the daemon to\n"
		 "end, so that the store can then be mounted again at once.",
	.examples = "fence umount /mnt/shared",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
