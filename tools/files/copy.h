/* SPDX-License-Identifier: MIT */
/* Copying content from a descriptor to another, with a progress line. */
#ifndef FENCE_TOOLS_FILES_COPY_H
#define FENCE_TOOLS_FILES_COPY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct progress;

struct copy_failure {
	int err;      /* positive errno; 0: none */
	bool reading; /* the source failed, not the destination */
};

/*
 * A regular file of @size bytes from its start: the kernel copies where it can; holes stay holes.
 */
int copy_file(int from, int to, off_t size, struct progress *p, struct copy_failure *out);
/* Everything until the end of @from. @p may be NULL. */
int copy_stream(int from, int to, struct progress *p, struct copy_failure *out);

#endif
