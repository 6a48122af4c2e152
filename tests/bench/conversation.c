/* SPDX-License-Identifier: MIT */
/* See conversation.h. Of the bench's client. */
#include "conversation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void die(const char *what)
{
	fprintf(stderr, "bench-client: %s: %s\n", what, strerror(errno));
	exit(1);
}

int conversation_open(const char *mount)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/.fence/ctl", mount);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

static void read_reply(int fd, char *reply)
{
	ssize_t n = read(fd, reply, PIPE_BUF - 1);

	if (n <= 0)
		die("no reply");
	reply[n] = '\0';
	if (strncmp(reply, "ok", 2) != 0) {
		fprintf(stderr, "bench-client: %s", reply);
		exit(1);
	}
}

void conversation_request(int fd, const void *request, size_t len, char *reply)
{
	if (write(fd, request, len) != (ssize_t)len) {
		int err = errno;

		read_reply(fd, reply);
		errno = err;
		die("request");
	}
	read_reply(fd, reply);
}

void conversation_session(int fd, const char *mount, const char *path, long token, char *dir)
{
	char line[PATH_MAX + 64], reply[PIPE_BUF];
	char *at, *end;
	int len = snprintf(line, sizeof(line), "open path=%s token=%ld parents=1\n", path, token);

	conversation_request(fd, line, (size_t)len, reply);
	at = strstr(reply, " path=");
	if (!at)
		die("no path= in the reply");
	at += strlen(" path=");
	end = at + strcspn(at, " \n");
	*end = '\0';
	snprintf(dir, PATH_MAX, "%s/%s", mount, at);
}

void conversation_commit(int fd)
{
	char reply[PIPE_BUF];

	conversation_request(fd, "commit\n", strlen("commit\n"), reply);
}
