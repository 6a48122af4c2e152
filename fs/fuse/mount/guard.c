/* SPDX-License-Identifier: MIT */
/* See guard.h. Layer: fuse. */
#include "fuse/mount/guard.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "fuse/mount/stale.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME "fence-guard" /* not found by who looks for fencefs to kill it */

/* All of the command line, which lies in one piece. */
static void set_name(char **argv)
{
	char *end = argv[0];

	for (char **arg = argv; *arg; arg++)
		if (*arg == end)
			end += strlen(end) + 1;
	memset(argv[0], 0, (size_t)(end - argv[0]));
	strncpy(argv[0], NAME, (size_t)(end - argv[0]) - 1);
	prctl(PR_SET_NAME, NAME);
}

/* Not for the daemon's terminal or pipes: somebody may wait for their end. */
static int leave_all_but(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int i = 0; i <= STDERR_FILENO; i++)
		dup2(null, i);
	if (dup2(fd, STDERR_FILENO + 1) < 0)
		return -errno;
	closefrom(STDERR_FILENO + 2);
	return STDERR_FILENO + 1;
}

/* True: dismissed. False: the daemon has died. */
static bool wait_for_end(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static _Noreturn void run(const char *mountpoint, const char *source, int fd)
{
	int err;

	setsid(); /* whoever kills the daemon's process group does not mean us */
	fd = leave_all_but(fd);
	if (fd < 0 || wait_for_end(fd))
		_exit(EXIT_SUCCESS);
	log_to_syslog(NAME);
	err = stale_mark(mountpoint, source);
	if (err < 0 && err != -ENOENT)
		log_warning(
			"the daemon of %s has died: `mount %s` mounts it again, `mount -a` does not (%s)",
			mountpoint, mountpoint, strerror(-err));
	else if (!err)
		log_warning("the daemon of %s has died: it can be mounted again", mountpoint);
	_exit(EXIT_SUCCESS);
}

struct guard guard_start(const char *mountpoint, const char *source, char **argv)
{
	struct guard g = { -1, -1 };
	auto_free char *copy = strdup(source); /* it may lie in argv */
	int fds[2];

	if (!copy || geteuid() != 0 || pipe2(fds, O_CLOEXEC) < 0)
		return g;
	g.pid = fork();
	if (g.pid == 0) {
		set_name(argv);
		run(mountpoint, copy, fds[0]);
	}
	close(fds[0]);
	if (g.pid < 0)
		close(fds[1]);
	else
		g.fd = fds[1];
	return g;
}

void guard_dismiss(struct guard g)
{
	if (g.pid < 0)
		return;
	if (write(g.fd, "", 1) != 1)
		log_debug("the guard is gone");
	close(g.fd);
	while (waitpid(g.pid, NULL, 0) < 0 && errno == EINTR)
		;
}
