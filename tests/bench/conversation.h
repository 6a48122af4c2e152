/* SPDX-License-Identifier: MIT */
/* One conversation on .fence/ctl, for the bench: whatever goes wrong ends the program. */
#ifndef FENCE_BENCH_CONVERSATION_H
#define FENCE_BENCH_CONVERSATION_H

#include <limits.h>
#include <stddef.h>

/* "WHAT: reason" on stderr, exit status 1. */
_Noreturn void die(const char *what);

int conversation_open(const char *mount);
/*
 * Writes @request (lines, payload) and reads the reply, which must be "ok ...". @reply: PIPE_BUF
 * bytes.
 */
void conversation_request(int fd, const void *request, size_t len, char *reply);
/* Opens a session on @path; where it is in the mount is put into @dir, PATH_MAX bytes. */
void conversation_session(int fd, const char *mount, const char *path, long token, char *dir);
void conversation_commit(int fd);

#endif
