/* SPDX-License-Identifier: MIT */
/*
 * fence fsck --data: reading all content with several threads. Here, not in the store, because that
 * has no threads of its own.
 */
#ifndef FENCE_TOOLS_FILES_FSCK_CONTENT_H
#define FENCE_TOOLS_FILES_FSCK_CONTENT_H

#include "store/fsck/fsck.h"

#include <signal.h>

struct fsck_content {
	struct store *s;
	struct fsck *f;
	int64_t rate;	    /* bytes a second; 0: as fast as it goes */
	const char *resume; /* file that says how far an interrupted run came; NULL: none */
	const volatile sig_atomic_t *stop;
	/* A blob turned out to be bad, or good though marked. One thread at a time. */
	int (*judged)(void *arg, const struct fsck_blob *b, bool is_good);
	void *arg;
};

/* 0, or -errno; -EINTR: *stop was set, and the file of `resume` says how far it came. */
int fsck_content_run(const struct fsck_content *c);

#endif
