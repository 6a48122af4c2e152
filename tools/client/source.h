/* SPDX-License-Identifier: MIT */
/* A file, or standard input, whose content is to be published. */
#ifndef FENCE_TOOLS_CLIENT_SOURCE_H
#define FENCE_TOOLS_CLIENT_SOURCE_H

#include "parse/args.h"
#include "parse/buf.h"

#include <stdbool.h>
#include <sys/types.h>

#define SOURCE_HELD_MAX (64 << 20) /* what the protocol's put takes at most */

struct source {
	const char *name; /* borrowed; "-" is standard input */
	int fd;		  /* owned */
	mode_t mode;	  /* permission bits that a new copy of it gets, umask applied */
	off_t size;	  /* of a regular file; -1: known only at its end */
	/* Owned; all of the content when it fits, else (if it is a stream) its beginning. */
	struct buf held;
	bool is_whole; /* it did fit */
};

#define SOURCE_NONE      \
	{                \
		.fd = -1 \
	}

/* Opens @name and reads it as far as it is to be held. 0, or the exit code. */
int source_open(const struct args *a, const char *name, struct source *out);
/* What the copy of it is called in a directory; NULL for standard input. */
const char *source_base(const char *name);
void source_close(struct source *s);

#define auto_source __attribute__((cleanup(source_close)))

#endif
