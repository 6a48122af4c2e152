/* SPDX-License-Identifier: MIT */
/* Where the daemon's program is. */
#ifndef FENCE_TOOLS_CLIENT_DAEMON_PROGRAM_H
#define FENCE_TOOLS_CLIENT_DAEMON_PROGRAM_H

#define DAEMON_PROGRAM "fencefs"
/* A user's PATH often lacks the directories where file system helpers are. */
#define DAEMON_MORE_PATH "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"

/* Beside this program, else in PATH. Malloc'd; NULL: nowhere. */
char *daemon_program_find(void);
/* The program @name in PATH, or where PATH should have led. Malloc'd; NULL: nowhere. */
char *daemon_program_helper(const char *name);

#endif
