/* SPDX-License-Identifier: MIT */
/* See notify_socket.h. Layer: fuse. What is sent is text, an assignment a line, in one datagram. */
#include "fuse/mount/notify_socket.h"

#include "base/cleanup.h"
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define SEND_SECONDS 5 /* how long a receiver that does not read may hold us up */
#define USEC_MAX     (INT64_MAX / 1000)

/* -EAFNOSUPPORT: neither a path nor an abstract name ("@..."), as a virtual machine's has it. */
static int set_address(struct notify_socket *n, const char *name)
{
	size_t len = strlen(name);

	if (name[0] != '/' && name[0] != '@')
		return -EAFNOSUPPORT;
	if (len < 2 || len >= sizeof(n->to.sun_path))
		return -ENAMETOOLONG;
	n->to = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(n->to.sun_path, name, len);
	n->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (name[0] == '@')
		n->to.sun_path[0] = '\0'; /* an abstract name ends where the address ends */
	else
		n->to_len++;
	return 0;
}

static bool parse_number(const char *s, int64_t *out)
{
	char *end;
	long long value;

	errno = 0;
	value = s && *s ? strtoll(s, &end, 10) : 0;
	if (!s || !*s || errno || *end || value <= 0)
		return false;
	*out = value;
	return true;
}

/* Without a WATCHDOG_PID it is meant for whoever reads it. */
static int64_t watchdog_ns(void)
{
	const char *pid = getenv("WATCHDOG_PID");
	int64_t usec, whose;

	if (!parse_number(getenv("WATCHDOG_USEC"), &usec) || usec > USEC_MAX)
		return 0;
	if (pid && (!parse_number(pid, &whose) || whose != getpid()))
		return 0;
	return usec * 1000;
}

static int open_socket(struct notify_socket *n, const char *name)
{
	const struct timeval limit = { .tv_sec = SEND_SECONDS };
	auto_fd int fd = -1;
	int err = set_address(n, name);

	if (err < 0)
		return err;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return -errno;
	n->fd = take_fd(&fd);
	return 0;
}

void notify_socket_open(struct notify_socket *n)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int err;

	*n = (struct notify_socket){ .fd = -1 };
	if (name && *name) {
		err = open_socket(n, name);
		if (err < 0)
			log_warning("cannot notify by NOTIFY_SOCKET=%s: %s", name, strerror(-err));
		else
			n->watchdog_ns = watchdog_ns();
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void notify_socket_close(struct notify_socket *n)
{
	cleanup_fd(&n->fd);
	n->fd = -1;
}

void notify_socket_send(const struct notify_socket *n, const char *state)
{
	if (n->fd < 0)
		return;
	if (sendto(n->fd, state, strlen(state), MSG_NOSIGNAL,
		   (const struct sockaddr *)(const void *)&n->to, n->to_len) < 0) {
		int e = errno;

		log_warning("cannot notify the service manager: %s", strerror(e));
	}
}

void notify_socket_say(const struct notify_socket *n, const char *state, const char *fmt, ...)
{
	auto_free char *text = NULL, *message = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0) {
		text = NULL;
		notify_socket_send(n, state);
		return;
	}
	/* Else a file's name could assign something. */
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	if (asprintf(&message, "%s\nSTATUS=%s", state, text) < 0)
		message = NULL;
	notify_socket_send(n, message ? message : state);
}
