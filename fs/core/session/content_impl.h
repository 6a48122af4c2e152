/* SPDX-License-Identifier: MIT */
/* struct content, for the files of this layer only. */
#ifndef FENCE_CORE_SESSION_CONTENT_IMPL_H
#define FENCE_CORE_SESSION_CONTENT_IMPL_H

#include "core/session/content.h"
#include "core/trust/verify.h"

#include <stdatomic.h>

struct content {
	struct view *view;  /* reference owned; NULL for salvage */
	struct snode *node; /* of a writable one; kept alive by its count of writers */
	void *data;	    /* owned; inline content */
	size_t len;
	int fd;		/* owned; read-only; -1 for inline content */
	atomic_int wfd; /* owned; writable; -1 until needed */
	bool writable, passthrough;
	atomic_bool confirmed; /* set under the session's lock */
	/* Content in a file of blobs/: */
	struct core *core;	 /* borrowed; NULL: it is none, or nothing is known of it */
	struct verify_file file; /* what was sealed */
	bool regained;
};

/*
 * Content of blob @id, or empty when @id is NULL. @fresh: it may have no row in the database yet.
 * -ENOENT: it is not there; the caller looks whether gc has pruned what named it, and hands what is
 * left to trust_report().
 */
struct blob_id;
struct core;
struct db;
int content_of_blob(struct core *c, struct db *db, const struct blob_id *id, int64_t size,
		    bool fresh, struct content **out);

#endif
