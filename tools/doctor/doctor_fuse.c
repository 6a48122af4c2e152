/* SPDX-License-Identifier: MIT */
/* fence doctor: what the kernel and libfuse offer. */
#include "doctor/doctor.h"

#include "base/cleanup.h"
#include "client/daemon_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENABLE_URING   "/sys/module/fuse/parameters/enable_uring"
#define URING_DISABLED "/proc/sys/kernel/io_uring_disabled"

static void check_device(struct doctor *d)
{
	auto_fd int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	int err = fd < 0 ? errno : 0;

	if (!err)
		doctor_say(d, DOCTOR_OK, "fuse device", NULL, "/dev/fuse can be opened");
	else if (err == EACCES || err == EPERM)
		doctor_say(d, DOCTOR_MISSING, "fuse device",
			   "chmod 0666 /dev/fuse; in a container: allow the device",
			   "you may not open /dev/fuse");
	else
		doctor_say(d, DOCTOR_MISSING, "fuse device",
			   "modprobe fuse; in a container: pass --device /dev/fuse",
			   "/dev/fuse cannot be opened: %s", strerror(err));
}

static void check_kernel(struct doctor *d)
{
	struct utsname u;

	if (uname(&u) < 0)
		return;
	if (!doctor_is_at_least(u.release, 6, 9))
		doctor_say(d, DOCTOR_NOTE, "kernel", "Linux 6.9 or newer",
			   "Linux %s has no passthrough: file contents go through the daemon",
			   u.release);
	else if (!d->is_root)
		doctor_say(d, DOCTOR_NOTE, "kernel", "mount as root",
			   "Linux %s has passthrough, but only for daemons started by root: file "
			   "contents go through yours",
			   u.release);
	else
		doctor_say(d, DOCTOR_OK, "kernel", NULL, "Linux %s has passthrough", u.release);
}

/* What "fencefs --version" prints; what it says on stderr is not ours to pass on. */
static int read_version(const char *program, char *out, size_t room)
{
	int fds[2], status;
	ssize_t n;
	size_t len = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		execl(program, DAEMON_PROGRAM, "--version", (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	while (len < room - 1 && (n = read(fds[0], out + len, room - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(fds[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		return -EIO;
	return 0;
}

/* "fencefs 0.1.0\nlibfuse 3.18.3\n" */
static void check_daemon(struct doctor *d)
{
	auto_free char *program = daemon_program_find();
	char said[256], fencefs[64], libfuse[64];

	if (!program) {
		doctor_say(d, DOCTOR_MISSING, "daemon", "install fencefs",
			   DAEMON_PROGRAM " is neither beside fence nor in PATH");
		return;
	}
	if (read_version(program, said, sizeof(said)) < 0 ||
	    sscanf(said, "fencefs %63s libfuse %63s", fencefs, libfuse) != 2) {
		doctor_say(d, DOCTOR_MISSING, "daemon", "install it again, with its libraries",
			   "%s does not run", program);
		return;
	}
	if (!doctor_is_at_least(libfuse, 3, 17))
		doctor_say(d, DOCTOR_MISSING, "daemon", "libfuse 3.17 or newer",
			   "fencefs %s runs with libfuse %s", fencefs, libfuse);
	else if (!doctor_is_at_least(libfuse, 3, 18))
		doctor_say(d, DOCTOR_NOTE, "daemon", "build it with libfuse 3.18",
			   "fencefs %s with libfuse %s cannot use io_uring", fencefs, libfuse);
	else
		doctor_say(d, DOCTOR_OK, "daemon", NULL, "fencefs %s with libfuse %s", fencefs,
			   libfuse);
}

static void check_uring(struct doctor *d)
{
	char enabled[8] = "", disabled[8] = "0";

	doctor_read(URING_DISABLED, disabled, sizeof(disabled));
	if (!doctor_read(ENABLE_URING, enabled, sizeof(enabled)))
		doctor_say(d, DOCTOR_NOTE, "io_uring", "Linux 6.14 or newer",
			   "this kernel has no FUSE over io_uring, which is faster");
	else if (enabled[0] != 'Y')
		doctor_say(d, DOCTOR_NOTE, "io_uring",
			   "echo Y >" ENABLE_URING
			   "; permanently: echo 'options fuse enable_uring=1' "
			   ">/etc/modprobe.d/fuse.conf",
			   "FUSE over io_uring, which is faster, is switched off");
	else if (disabled[0] == '2' || (disabled[0] == '1' && !d->is_root))
		doctor_say(d, DOCTOR_NOTE, "io_uring", "sysctl kernel.io_uring_disabled=0",
			   "io_uring is switched off for %s", d->is_root ? "all" : "you");
	else
		doctor_say(d, DOCTOR_OK, "io_uring", NULL, "available with -o io_uring=on");
}

void doctor_fuse(struct doctor *d)
{
	check_device(d);
	check_kernel(d);
	check_daemon(d);
	check_uring(d);
}
