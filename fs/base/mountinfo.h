/* SPDX-License-Identifier: MIT */
/* A line of /proc/self/mountinfo, see proc_pid_mountinfo(5). Layer: base. */
#ifndef FENCE_BASE_MOUNTINFO_H
#define FENCE_BASE_MOUNTINFO_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mountinfo {
	uint64_t id; /* of the mount, as statx(2) gives it */
	dev_t dev;
	/* Into the line. */
	char *root;   /* what of the file system is mounted; "/" is all */
	char *point;  /* where */
	char *type;   /* of the file system, with its subtype */
	char *source; /* may be "" */
	char *super;  /* its options, "" if there are none */
};

/*
 * @line, without LF, is cut up and unescaped for it. False: malformed, *out is untouched then.
 */
bool mountinfo_parse(char *line, struct mountinfo *out);

#endif
