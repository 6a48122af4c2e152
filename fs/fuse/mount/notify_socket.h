/* SPDX-License-Identifier: MIT */
/* Telling the service manager how this daemon is: sd_notify(3) without its library. Layer: fuse. */
#ifndef FENCE_FUSE_MOUNT_NOTIFY_SOCKET_H
#define FENCE_FUSE_MOUNT_NOTIFY_SOCKET_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct notify_socket {
	int fd; /* owned; -1: nobody wants to know */
	struct sockaddr_un to;
	socklen_t to_len;
	int64_t watchdog_ns; /* within which it wants to hear WATCHDOG=1; 0: it does not */
};

/*
 * By $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID, which are taken out of the environment: what
 * is started from here shall not speak in our name. Before there are threads.
 */
void notify_socket_open(struct notify_socket *n);
void notify_socket_close(struct notify_socket *n);
/* @state: such as "WATCHDOG=1". From any thread. */
void notify_socket_send(const struct notify_socket *n, const char *state);
/* @state, and a line for people, STATUS=. */
void notify_socket_say(const struct notify_socket *n, const char *state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
