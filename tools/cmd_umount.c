/* SPDX-License-Identifier: MIT */
/*
 * Takes a mount away and waits for its daemon to have let go of the store: then, and not before,
 * the store can be mounted again, checked or copied.
 */
#include "verbs.h"

#include "args.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "buf.h"
#include "exit_code.h"
#include "mount_table.h"
#include "mount_users.h"
#include "report.h"
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
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
		report_hint(
			"end what uses it, or let it go as soon as nothing does: fence umount --lazy");
	return EXIT_FAILED;
}

/* Until the daemon that has the store now has let go of it. */
static int wait_released(const struct args *a, const char *store, int pid)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	int64_t until = io_boot_ns() + WAIT_NS;
	char point[PATH_MAX + 1];
	int holder;

	while (store_holder(store, &holder, point) == 0 && holder == pid) {
		if (io_boot_ns() > until) {
			report_error(a, store, EBUSY,
				     "unmounted, but its daemon (pid %d) still has the store", pid);
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
	char held[PATH_MAX + 1];
	int pid = 0;
	int r;

	if (!point)
		return report_errno(a, a->rest[0], errno);
	r = mount_table_read(&table);
	if (r < 0)
		return report_errno(a, "/proc/self/mountinfo", r);
	row = mount_by_point(&table, point);
	if (!row || !row->is_fencefs)
		return report_error(a, a->rest[0], EMEDIUMTYPE, "no fencefs is mounted there");
	/* A relative source was relative to a directory that nobody knows any more. */
	if (row->source[0] != '/' || store_holder(row->source, &pid, held) < 0)
		pid = 0;
	r = unmount(point, args_has(a, "lazy"));
	if (r < 0)
		return say_failed(a, a->rest[0], row, r);
	if (pid == 0 || args_has(a, "lazy") || args_has(a, "no-wait"))
		return EXIT_OK;
	return wait_released(a, row->source, pid);
}

static const char *const usage[] = { "[-l] [--no-wait] MOUNTPOINT", NULL };
static const struct option_spec options[] = {
	{ "lazy", 'l', NULL, "take it out of the tree now; it ends when nothing uses it any more" },
	{ "no-wait", 0, NULL, "do not wait until the daemon has let go of the store" },
	OPTION_END,
};
static const int exits[] = { 10, 0 };

const struct verb verb_umount = {
	.name = "umount",
	.summary = "Unmount",
	.usage = usage,
	.about =
		"Commits in flight are finished. Returns when the daemon has let go of the store (waits up to\n"
		"30 seconds for that), so that it can be mounted again at once.",
	.examples = "fence umount /mnt/shared",
	.options = options,
	.exits = exits,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
