/* SPDX-License-Identifier: MIT */
/*
 * Who asks: credentials captured when a file is opened, never taken from a later WRITE (which may
 * carry uid 0).
 */
#ifndef FENCE_CORE_ACCESS_CALLER_H
#define FENCE_CORE_ACCESS_CALLER_H

#include <stdint.h>
#include <sys/types.h>

#define CALLER_GROUPS_MAX 256

struct caller {
	uint32_t uid, gid;
	pid_t pid;
	int n_groups;
	gid_t groups[CALLER_GROUPS_MAX];
};

#endif
