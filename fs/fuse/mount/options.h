/* SPDX-License-Identifier: MIT */
/* The daemon's command line. */
#ifndef FENCE_FUSE_MOUNT_OPTIONS_H
#define FENCE_FUSE_MOUNT_OPTIONS_H

#include <stdbool.h>

#define EXIT_USAGE 2

enum choice { CHOICE_AUTO, CHOICE_ON, CHOICE_OFF };

struct options {
	bool foreground, debug;
	enum choice passthrough, io_uring;
	const char *store;	/* as given: it becomes the mount's source */
	const char *mountpoint; /* as given */
	char *mount;		/* owned: what libfuse and the kernel are told, comma-separated */
};

/*
 * -1: go on. Otherwise the exit status: 0 after --help and --version, EXIT_USAGE after a message
 * that names what was wrong.
 */
int options_parse(struct options *o, int argc, char **argv);
void options_fini(struct options *o);

#endif
