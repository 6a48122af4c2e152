/* SPDX-License-Identifier: MIT */
/*
 * fencefs: the daemon. Layer: fuse.
 *
 * In the background it is a child of the process that was started, forked before there is any
 * thread or database connection. The parent waits until the child has handled the kernel's INIT,
 * sees for itself that the mount answers (the daemon never touches its own mount), and leaves; if
 * it does not come to that, the child has said why on the same stderr, and its exit status becomes
 * the parent's. Beside the child waits a guard (guard.h), so that the mount of a daemon that was
 * killed can be mounted again.
 */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/streams.h"
#include "fuse/mount/guard.h"
#include "fuse/mount/notify_socket.h"
#include "fuse/mount/options.h"
#include "fuse/mount/stale.h"
#include "fuse/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME	   "fencefs"
#define FILES_WANT 1048576 /* as many as a kernel allows unless told otherwise (fs.nr_open) */

struct startup {
	bool foreground;
	int ready_fd; /* the parent reads its other end; -1 in the foreground */
	const char *mountpoint;
	struct notify_socket notify;
};

static int fail(const struct errmsg *err)
{
	fprintf(stderr, NAME ": %s\n", err->s);
	return EXIT_FAILURE;
}

/*
 * From now on there is nobody at the terminal. Not before it is mounted: at an automount point all
 * but the process group that is to mount it have to wait.
 */
static void leave_terminal(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	log_to_syslog(NAME);
	if (fd < 0)
		return;
	for (int i = 0; i <= STDERR_FILENO; i++)
		dup2(fd, i);
	if (fd > STDERR_FILENO)
		close(fd);
}

static void on_ready(void *arg)
{
	const struct startup *st = arg;

	if (st->foreground) {
		log_info("mounted at %s", st->mountpoint);
		notify_socket_say(&st->notify, "READY=1", "mounted at %s", st->mountpoint);
		return;
	}
	leave_terminal();
	log_info("mounted at %s", st->mountpoint);
	if (write(st->ready_fd, "", 1) != 1) {
		log_warning("the process that started this daemon has given up: ending");
		kill(getpid(), SIGTERM);
	}
	close(st->ready_fd);
}

/* Content that is not passed through, and staged files, take descriptors. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	if (limit.rlim_max < FILES_WANT) {
		const struct rlimit more = { FILES_WANT, FILES_WANT };

		if (setrlimit(RLIMIT_NOFILE, &more) == 0)
			return;
	}
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int run(const struct options *o, const struct serve_place *place)
{
	struct errmsg err = { "" };

	umask(0);
	raise_file_limit();
	if (o->debug)
		log_set_level(LOG_LEVEL_DEBUG);
	return serve(o, place, &err) < 0 ? fail(&err) : EXIT_SUCCESS;
}

static int daemon_main(const struct options *o, const struct serve_place *place, char **argv)
{
	struct guard guard;
	int status;

	if (chdir("/") < 0)
		perror(NAME ": /");
	guard = guard_start(place->mountpoint, o->store, argv);
	log_to_both(NAME);
	status = run(o, place);
	guard_dismiss(guard);
	return status;
}

/* The mount must answer somebody who is not the daemon. */
static int check_mount(const char *mountpoint)
{
	struct statfs st;

	if (statfs(mountpoint, &st) == 0)
		return EXIT_SUCCESS;
	fprintf(stderr, NAME ": the mount at %s does not answer: %s\n", mountpoint,
		strerror(errno));
	return EXIT_FAILURE;
}

static int child_status(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILURE;
	if (WIFSIGNALED(status)) {
		fprintf(stderr, NAME ": the daemon died: %s\n", strsignal(WTERMSIG(status)));
		return EXIT_FAILURE;
	}
	/* It ended before it was ready, and not for want of trying. */
	return WEXITSTATUS(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static int wait_until_ready(pid_t child, int fd, const char *mountpoint)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? check_mount(mountpoint) : child_status(child);
}

/* In the background we are not the process that a service manager has started. */
static int run_in_foreground(const struct options *o, struct serve_place *place, struct startup *st)
{
	int status;

	place->notify = &st->notify;
	status = run(o, place);
	notify_socket_close(&st->notify);
	return status;
}

static int start(const struct options *o, struct serve_place *place, char **argv)
{
	struct startup st = { .foreground = o->foreground,
			      .ready_fd = -1,
			      .mountpoint = place->mountpoint };
	int fds[2];
	pid_t child;
	int status;

	place->ready = on_ready;
	place->ready_arg = &st;
	notify_socket_open(&st.notify);
	if (o->foreground)
		return run_in_foreground(o, place, &st);
	notify_socket_close(&st.notify);
	if (pipe2(fds, O_CLOEXEC) < 0) {
		perror(NAME ": pipe");
		return EXIT_FAILURE;
	}
	child = fork();
	if (child < 0) {
		perror(NAME ": fork");
		return EXIT_FAILURE;
	}
	if (child == 0) {
		close(fds[0]);
		st.ready_fd = fds[1];
		return daemon_main(o, place, argv);
	}
	close(fds[1]);
	status = wait_until_ready(child, fds[0], place->mountpoint);
	close(fds[0]);
	return status;
}

int main(int argc, char **argv)
{
	struct options o;
	struct errmsg err = { "" };
	auto_free char *store = NULL;
	auto_free char *mountpoint = NULL;
	struct serve_place place = { .store = NULL };
	int status;

	streams_fill(true);
	status = options_parse(&o, argc, argv);
	if (status < 0) {
		store = realpath(o.store, NULL);
		if (!store) {
			int e = errno;

			errmsg_set(&err, -e, "%s: %s", o.store, strerror(e));
			status = fail(&err);
		} else if (stale_resolve(o.mountpoint, &mountpoint, &err) < 0) {
			status = fail(&err);
		} else {
			/* Relative to what, the mount's source would not say. */
			if (*o.store != '/')
				o.store = store;
			place.store = store;
			place.mountpoint = mountpoint;
			status = start(&o, &place, argv);
		}
	}
	options_fini(&o);
	return status;
}
