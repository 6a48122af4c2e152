/* SPDX-License-Identifier: MIT */
/* See probe.h. Layer: tools. */
#include "client/probe.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "out/exit_code.h"
#include "client/mount_table.h"
#include "client/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE 65536

/*
 * What the reader says at the end, in this order: the mount, what went wrong; the text before it.
 */
struct verdict {
	int err;
	struct errmsg msg;
	char mount[PATH_MAX];
};

/*
 * --------------------------------------------------------------- the process that touches the
 * mount
 */

static int copy_file(const char *mount, const char *file, int to, struct errmsg *msg)
{
	auto_buf struct buf path = { 0 };
	auto_fd int fd = -1;
	char piece[PIECE];
	ssize_t n;

	buf_printf(&path, "%s/.fence/%s", strcmp(mount, "/") == 0 ? "" : mount, file);
	fd = open(path.s, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return errmsg_set(msg, -EPROTO, "its daemon is too old to have .fence/%s", file);
	if (fd < 0)
		return errmsg_set(msg, -errno, "%s", exit_error_text(-errno));
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		if (io_write_all(to, piece, (size_t)n) < 0)
			return errmsg_set(msg, -EPIPE, "nobody is listening");
	return n < 0 ? errmsg_set(msg, -errno, "%s", exit_error_text(-errno)) : 0;
}

/*
 * Whoever reads what fence prints waits for the end of it, which one left behind must not put off.
 */
static void let_go_of_streams(void)
{
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	if (null <= STDERR_FILENO)
		(void)take_fd(&null);
}

static void touch(const char *given, const char *file, int to)
{
	auto_target struct target t = { 0 };
	struct verdict v = { .err = 0 };

	v.err = given ? target_find(given, &t, &v.msg) : target_default(NULL, &t, &v.msg);
	if (!v.err) {
		snprintf(v.mount, sizeof(v.mount), "%s", t.mount);
		v.err = copy_file(t.mount, file, to, &v.msg);
	}
	io_write_all(to, &v, sizeof(v));
}

/*
 * --------------------------------------------------------------------------- the one that must not
 */

/* Without asking anybody: symlinks in @path stay what they are. */
static char *lexical(const char *path)
{
	auto_free char *cwd = path && path[0] == '/' ? NULL : getcwd(NULL, 0);
	struct buf out = { 0 };
	auto_buf struct buf all = { 0 };

	buf_printf(&all, "%s/%s/", cwd ? cwd : "", path ? path : "");
	for (char *name = strtok(all.s, "/"); name; name = strtok(NULL, "/"))
		if (strcmp(name, ".") != 0)
			buf_printf(&out, "/%s", name);
	if (!out.len)
		buf_char(&out, '/');
	return out.s;
}

static bool is_beneath(const char *path, const char *point)
{
	size_t len = strlen(point);

	return strncmp(path, point, len) == 0 && (!path[len] || path[len] == '/');
}

/*
 * The mount that is meant, by names alone: the innermost mount on the way to @given or, if nothing
 * is given, to the working directory, if that is one of ours.
 */
static char *guess(const char *given)
{
	auto_mount_table struct mount_table table = { 0 };
	auto_free char *path = lexical(given);
	const struct mount_row *best = NULL;

	if (mount_table_read(&table) == 0)
		for (int i = 0; i < table.n; i++)
			if (is_beneath(path, table.rows[i].point) &&
			    (!best || strlen(table.rows[i].point) >= strlen(best->point)))
				best = &table.rows[i];
	if (best && best->is_fencefs)
		return str_copy(best->point);
	return given ? take_ptr(&path) : NULL;
}

/* All that comes until the other end is closed. -ETIMEDOUT. */
static int collect(int fd, int64_t deadline, struct buf *out)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = deadline - io_boot_ns();
		int ms = left > 0 ? (int)(left / 1000000 + 1) : 0;
		int ready = poll(&p, 1, ms);
		ssize_t n;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0)
			return -ETIMEDOUT;
		n = read(fd, buf_room(out, PIECE), PIECE);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			buf_grown(out, (size_t)n);
	}
}

static pid_t start(const char *given, const char *file, int *out_fd)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		int to = fcntl(fds[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

		close(fds[0]);
		close(fds[1]);
		let_go_of_streams();
		touch(given, file, to);
		_exit(0);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return -EAGAIN;
	}
	*out_fd = fds[0];
	return pid;
}

/* The verdict stands behind the text. */
static int take_verdict(struct probe *p)
{
	struct verdict v;

	if (p->text.len < sizeof(v))
		return errmsg_set(&p->err, -EIO, "the process that was asking the mount has died");
	p->text.len -= sizeof(v);
	memcpy(&v, p->text.s + p->text.len, sizeof(v));
	p->text.s[p->text.len] = '\0';
	p->err = v.msg;
	if (v.mount[0])
		p->mount = str_copy(v.mount);
	return v.err;
}

int probe_read(const char *given, const char *file, int64_t timeout, struct probe *out)
{
	int64_t deadline = io_boot_ns() + timeout;
	struct probe p = { .mount = NULL };
	auto_fd int fd = -1;
	pid_t pid = start(given, file, &fd);
	int err = pid < 0 ? pid : collect(fd, deadline, &p.text);

	if (pid < 0)
		errmsg_set(&p.err, pid, "cannot start a process: %s", strerror(-pid));
	else if (err == -ETIMEDOUT)
		errmsg_set(&p.err, err, "no answer within %g s", (double)timeout / 1e9);
	else
		err = take_verdict(&p);
	if (pid > 0 && err == -ETIMEDOUT)
		kill(pid, SIGKILL);
	if (pid > 0)
		waitpid(pid, NULL, err == -ETIMEDOUT ? WNOHANG : 0);
	if (!p.mount)
		p.mount = guess(given);
	*out = p;
	return err;
}

void probe_fini(struct probe *p)
{
	free(p->mount);
	buf_fini(&p->text);
	*p = (struct probe){ .mount = NULL };
}
